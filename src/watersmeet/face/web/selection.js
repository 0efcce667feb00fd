// The chosen result, and the pane beside the list.

import { openDocument } from "./document.js";
import { $ } from "./dom.js";
import { explain } from "./explain.js";
import { state } from "./state.js";

export const items = () => [...document.querySelectorAll("#results .result, #cards .card")];

export function mark(at) {
  state.here = at;
  items().forEach((item, number) => item.classList.toggle("here", number === at));
}

export function select(at, focus = true) {
  const all = items();
  if (!all.length) return;
  const next = Math.max(0, Math.min(all.length - 1, at));
  mark(next);
  if (focus) (all[next].querySelector("button.link, summary") ?? all[next]).focus();
  all[next].scrollIntoView({ block: "nearest" });
  if (!$("detail").hidden && state.results[next]) state.view === "explain" ? explain(next, false) : openDocument(next, false);
}

export function openPane(view) {
  state.view = view;
  $("show-document").setAttribute("aria-pressed", String(view === "document"));
  $("show-explain").setAttribute("aria-pressed", String(view === "explain"));
  $("detail").hidden = false;
  document.body.classList.add("split");
}

export function closeDetail(focus = true) {
  $("detail").hidden = true;
  document.body.classList.remove("split");
  if (focus && state.here >= 0) select(state.here);
}
