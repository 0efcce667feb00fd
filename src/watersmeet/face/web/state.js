// What the page shows at the moment, and what its controls say.

import { $ } from "./dom.js";

export const REGISTRY = ["mcp_server", "a2a_agent", "skill", "virtual_server", "tool"];
export const PAGE = 20;
export const LAST = 1000;
export const FACETS = ["kind", "collection", "tag"];
export const state = {
  results: [], here: -1, filters: { kind: [], collection: [], tag: [] }, since: "", scope: "passages", words: null, abort: null, timer: 0,
  number: 0, view: "document", asking: null, shown: null, searched: null, kept: false, more: false,
};
export const controls = () => [...document.querySelectorAll("[data-parameter]")];

export function valueOf(control) {
  if (control.type === "checkbox") return control.checked;
  return control.type === "number" ? (Number.isNaN(control.valueAsNumber) ? "" : control.valueAsNumber) : control.value;
}

export function request(offset = 0) {
  const body = { query: $("query").value.trim(), top_n: PAGE, offset, explain: true, facets: !offset };
  for (const control of controls()) if (valueOf(control)) body[control.id] = valueOf(control);
  if (state.since && !body.since) body.since = state.since;
  const chosen = FACETS.filter((key) => state.filters[key].length).map((key) => [key, [...state.filters[key]]]);
  if (chosen.length) body.filters = Object.fromEntries(chosen);
  return body;
}
