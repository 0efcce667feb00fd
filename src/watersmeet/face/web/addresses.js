// Addresses: every search and every document has one, which works when it is pasted, reloaded or gone back to.

import { $, straight } from "./dom.js";
import { controls, FACETS, state, valueOf } from "./state.js";

const DOCUMENT = "/doc/";

function searchWords() {
  const saved = new URLSearchParams();
  const query = $("query").value.trim();
  if (query) saved.set("q", query);
  for (const key of FACETS) for (const value of state.filters[key]) saved.append(key, value);
  if (state.since) saved.set("since", state.since);
  for (const control of controls()) if (valueOf(control)) saved.set(control.id, valueOf(control));
  if (state.scope !== "passages") saved.set("scope", state.scope);
  return saved;
}

export const searchKey = () => String(searchWords());

export function documentAddress({ document: name, chunk, anchor }) {
  const words = searchWords();
  if (chunk) words.set("at", chunk);
  const path = name.split("/").map(encodeURIComponent).join("/");
  return DOCUMENT + path + (words.size ? `?${words}` : "") + (anchor ? `#${encodeURIComponent(anchor)}` : "");
}

function address() {
  if (state.shown) return documentAddress(state.shown);
  const words = searchKey();
  return words ? `/?${words}` : "/";
}

// what is shown becomes the address; a step that one may want to go back from is a new entry of the history
export function showAddress(isStep) {
  const now = address();
  if (isStep && now !== location.pathname + location.search + location.hash) history.pushState(null, "", now);
  else history.replaceState(null, "", now);
  const query = $("query").value.trim();
  document.title = state.shown?.title || query ? `${straight(state.shown?.title || query)} · watersmeet` : "watersmeet";
}

// the controls as the address says; returns the document that it names
export function readAddress() {
  const saved = new URLSearchParams(location.search);
  $("query").value = saved.get("q") ?? "";
  for (const key of FACETS) state.filters[key] = saved.getAll(key);
  state.since = "";
  for (const control of controls()) readControl(control, saved.get(control.id) ?? "");
  state.scope = saved.get("scope") === "registry" ? "registry" : "passages";
  if (!location.pathname.startsWith(DOCUMENT)) return null;
  const name = location.pathname.slice(DOCUMENT.length).split("/").map(decoded).join("/");
  return name ? { document: name, chunk: saved.get("at") ?? "", anchor: decoded(location.hash.slice(1)) } : null;
}

function readControl(control, wanted) {
  if (control.tagName === "SELECT") control.value = [...control.options].some((one) => one.value === wanted) ? wanted : "";
  else if (control.type === "checkbox") control.checked = wanted === "true";
  else control.value = wanted;
  if (control.id === "since" && wanted && !control.value) state.since = wanted;  // an age, which is no date
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}
