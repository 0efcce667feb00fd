// Keys.

import { getAnswer } from "./answer.js";
import { isExpert, openFilters, setExpert } from "./controls.js";
import { openDocument } from "./document.js";
import { $ } from "./dom.js";
import { explain } from "./explain.js";
import { closeMenus, menus } from "./facets.js";
import { showRest } from "./results.js";
import { more } from "./search.js";
import { closeDetail, items, move, rowOf, select } from "./selection.js";
import { state } from "./state.js";

function typing(target) { return target.matches("input, select, textarea"); }

function escape(event) {
  const menu = event.target.closest("details.facet[open]");
  if (menu) {
    menu.open = false;
    return menu.querySelector("summary").focus();
  }
  if (menus().some((one) => one.open)) return closeMenus();
  if (event.target === $("query")) return $("detail").hidden ? null : closeDetail(false);
  if (typing(event.target) || $("detail").hidden) return $("query").focus();
  return closeDetail();
}

function firstMenu() {
  openFilters(true);
  const menu = menus().find((one) => !one.hidden);
  menu.open = true;
  (menu.querySelector("button, input") ?? menu.querySelector("summary")).focus();
}

function openOriginal() {
  const shown = $("detail").hidden ? rowOf(state.here)?.querySelector("a.original, .meta a") : $("original").querySelector("a");
  shown?.click();
}

export function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") { event.preventDefault(); return escape(event); }
  if (event.target === $("query") && event.key === "ArrowDown" && items().length) {
    event.preventDefault();
    return state.here >= 0 ? select(state.here) : move(1);
  }
  if (typing(event.target)) return;
  const go = {
    "/": () => $("query").select(),
    "?": () => $("keys").showModal(),
    f: firstMenu,
    x: () => { setExpert(!isExpert()); if (isExpert()) $("mode").focus(); },
    e: () => explain(Math.max(0, state.here)),
    a: getAnswer,
    o: openOriginal,
    m: () => { const group = rowOf(state.here)?.closest(".document"); showRest(group, group?.querySelector(".rest")?.hidden); },
    n: more,
    Enter: state.results[state.here] && !event.target.closest("button, a, summary") ? () => openDocument(state.here) : null,
    j: () => move(1), ArrowDown: () => move(1),
    k: () => move(-1), ArrowUp: () => move(-1),
  }[event.key];
  const isInside = $("detail").contains(event.target);
  if (!go || (isInside && event.key.startsWith("Arrow")) || (event.target.closest(".facet") && event.key.startsWith("Arrow"))) return;
  event.preventDefault();
  go();
}
