// What the page shows at the moment, and what its controls say.

import { $ } from "./dom.js";

export const REGISTRY = ["mcp_server", "a2a_agent", "skill", "virtual_server", "tool"];
export const state = { results: [], here: -1, tags: [], scope: "passages", words: null, abort: null, timer: 0, number: 0, view: "document", asking: null };
export const controls = () => [...document.querySelectorAll("[data-parameter]")];

export function request() {
  const filters = {};
  if ($("kind").value) filters.kind = [$("kind").value];
  if (state.tags.length) filters.tag = [...state.tags];
  const body = { query: $("query").value.trim(), top_n: 20, explain: true };
  for (const control of controls()) {
    const value = control.type === "checkbox" ? control.checked : control.type === "number" ? control.valueAsNumber : control.value;
    if (value) body[control.id] = value;  // not empty and not NaN
  }
  if (Object.keys(filters).length) body.filters = filters;
  return body;
}
