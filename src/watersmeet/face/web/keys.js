// Keys.

import { getAnswer } from "./answer.js";
import { openFilters } from "./controls.js";
import { openDocument } from "./document.js";
import { $ } from "./dom.js";
import { explain } from "./explain.js";
import { closeDetail, items, select } from "./selection.js";
import { state } from "./state.js";

function typing(target) { return target.matches("input, select, textarea"); }

export function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const inBox = event.target === $("query");
  if (inBox && event.key === "ArrowDown" && items().length) { event.preventDefault(); return select(Math.max(0, state.here)); }
  if (inBox && event.key === "Escape" && !$("detail").hidden) { event.preventDefault(); return closeDetail(false); }
  if (event.key === "Escape" && typing(event.target) && !inBox) { event.preventDefault(); return $("query").focus(); }
  if (typing(event.target)) return;
  const go = {
    "/": () => $("query").select(),
    "?": () => $("keys").showModal(),
    f: () => { openFilters(true); $("mode").closest(".pair").hidden ? $("tag").focus() : $("mode").focus(); },
    e: () => explain(Math.max(0, state.here)),
    a: () => getAnswer(),
    Enter: state.results[state.here] && !event.target.closest("button, a, summary") ? () => openDocument(state.here) : null,
    j: () => select(state.here + 1), ArrowDown: () => select(state.here + 1),
    k: () => (state.here <= 0 ? $("query").focus() : select(state.here - 1)),
    ArrowUp: () => (state.here <= 0 ? $("query").focus() : select(state.here - 1)),
    Escape: () => ($("detail").hidden ? $("query").focus() : closeDetail()),
  }[event.key];
  const inside = $("detail").contains(event.target);
  if (!go || (inside && event.key.startsWith("Arrow"))) return;
  event.preventDefault();
  go();
}
