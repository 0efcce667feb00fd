// The chosen result, and the pane beside the list.

import { showAddress } from "./addresses.js";
import { openDocument } from "./document.js";
import { $ } from "./dom.js";
import { explain } from "./explain.js";
import { state } from "./state.js";

export const items = () => [...document.querySelectorAll("#results .result, #cards .card")].filter((one) => one.offsetParent !== null);
export const rowOf = (at) => document.querySelector(`#results .result[data-at="${at}"]`);

export function mark(at) {
  state.here = at;
  for (const one of document.querySelectorAll(".result, .card")) one.classList.remove("here");
  (rowOf(at) ?? document.querySelectorAll("#cards .card")[at])?.classList.add("here");
}

// the next or previous one of those that can be seen
export function move(step) {
  const all = items();
  const now = all.findIndex((one) => one.classList.contains("here"));
  if (now + step < 0) return $("query").focus();
  const next = all[Math.min(all.length - 1, now + step)];
  if (next) select(next.dataset.at === undefined ? all.indexOf(next) : Number(next.dataset.at));
}

export function select(at, focus = true) {
  const row = rowOf(at) ?? document.querySelectorAll("#cards .card")[at];
  if (!row) return;
  mark(at);
  if (focus) (row.querySelector("a.link, button.link, summary") ?? row).focus();
  row.scrollIntoView({ block: "nearest" });
  if (focus && !$("detail").hidden && state.results[at]) state.view === "explain" ? explain(at, false) : openDocument(at, false);
}

export function openPane(view) {
  state.view = view;
  $("show-document").setAttribute("aria-pressed", String(view === "document"));
  $("show-explain").setAttribute("aria-pressed", String(view === "explain"));
  $("show-explain").hidden = !state.results[state.here];
  $("detail").hidden = false;
  document.body.classList.add("split");
}

export function closeDetail(focus = true, isStep = true) {
  const was = state.shown;
  state.shown = null;
  $("detail").hidden = true;
  document.body.classList.remove("split");
  if (was && isStep) showAddress(true);
  if (!focus) return;
  if (state.here >= 0) select(state.here); else $("query").focus();
}
