// Filters: menus with counts, and the chosen ones as chips.

import { $, make } from "./dom.js";
import { search } from "./search.js";
import { controls, FACETS, state, valueOf } from "./state.js";

const AGES = { "7d": "last 7 days", "1m": "last 30 days", "1y": "last year" };
const LABELS = { kind: "Kind", collection: "Collection", tag: "Tag" };
const MOST = 12;
let whole = {};  // counts of the whole index, for when nothing is searched

export const menus = () => [...document.querySelectorAll("details.facet")];
const menu = (key) => document.querySelector(`[data-facet="${key}"] .menu`);

export function knowKinds(kinds) {
  whole.kind = Object.entries(kinds).map(([value, documents]) => ({ key: "kind", value, documents }));
  drawFacets(null);
}

export function knowTags(tags) {
  whole.tag = tags.map((one) => ({ key: "tag", value: one.tag, documents: one.count }));
  $("tags").replaceChildren(...tags.slice(0, 500).map((one) => make("option", { value: one.tag })));
  if (!state.results.length) drawFacets(null);
}

// `facets`: the counts of an answer; null: nothing is searched, so those of the index are shown
export function drawFacets(facets) {
  const counts = (key) => facets ? facets.counts.filter((one) => one.key === key) : whole[key] ?? [];
  for (const key of FACETS) drawMenu(key, counts(key));
  drawMenu("since", counts("since"));
  const collections = counts("collection").length;
  document.querySelector('[data-facet="collection"]').hidden = collections < 2 && !state.filters.collection.length;
  drawChosen();
}

function drawMenu(key, counts) {
  const chosen = key === "since" ? [state.since].filter(Boolean) : state.filters[key];
  const missing = chosen.filter((value) => !counts.some((one) => one.value === value)).map((value) => ({ key, value, documents: null }));
  const values = [...missing, ...counts].slice(0, MOST).map((one) => value(one, chosen.includes(one.value)));
  for (const old of menu(key).querySelectorAll(".value, .none")) old.remove();
  menu(key).prepend(...(values.length ? values : [make("p", { class: "none", text: "nothing to choose" })]));
}

function value({ key, value: name, documents }, isChosen) {
  const label = key === "since" ? AGES[name] ?? name : name;
  return make("button", { class: "plain value", type: "button", "aria-pressed": String(isChosen), "data-value": name,
    on: { click: () => toggle(key, name) } }, make("span", { text: label }), documents === null ? null : " ", documents === null ? null
    : make("span", { class: "count" }, documents.toLocaleString("en"), make("span", { class: "unseen", text: documents === 1 ? " document" : " documents" })));
}

export function toggle(key, name) {
  if (key === "since") {
    state.since = state.since === name ? "" : name;
    $("since").value = "";
  } else {
    const chosen = state.filters[key];
    state.filters[key] = chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name];
  }
  const from = document.activeElement?.closest(".menu") ? [key, name] : null;
  drawChosen();
  search(true).then(() => {
    if (from) document.querySelector(`[data-facet="${from[0]}"] [data-value="${CSS.escape(from[1])}"]`)?.focus();
  });
}

export function addTag() {
  const tag = $("tag").value.trim().replace(/^#/, "").toLowerCase();
  $("tag").value = "";
  if (tag && !state.filters.tag.includes(tag)) toggle("tag", tag);
}

export function drawChosen() {
  const chips = FACETS.flatMap((key) => state.filters[key].map((name) =>
    chip(key === "tag" ? `#${name}` : `${LABELS[key]}: ${name}`, () => toggle(key, name))));
  if (state.since) chips.push(chip(AGES[state.since] ?? `since ${state.since}`, () => toggle("since", state.since)));
  for (const control of state.scope === "registry" ? [] : controls()) {
    if (!valueOf(control)) continue;
    const name = document.querySelector(`label[for="${control.id}"]`).textContent.toLowerCase();
    chips.push(chip(control.type === "checkbox" ? name : `${name}: ${valueOf(control)}`, () => {
      if (control.type === "checkbox") control.checked = false; else control.value = "";
      search(true);
    }));
  }
  $("chosen").replaceChildren(...chips);
}

function chip(text, remove) {
  return make("button", { class: "plain chip", type: "button", "aria-label": `Remove the filter ${text}`, text: `${text} ×`,
    on: { click: () => { remove(); drawChosen(); $("query").focus(); } } });
}

export function closeMenus(except = null) {
  for (const one of menus()) if (one !== except) one.open = false;
}
