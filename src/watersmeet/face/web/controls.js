// Tags, scope, filters and theme.

import { $, make } from "./dom.js";
import { search } from "./search.js";
import { controls, state } from "./state.js";

function drawTags() {
  $("chosen").replaceChildren(...state.tags.map((tag) => make("button", { class: "plain", type: "button", "aria-label": `Remove the tag ${tag}`,
    text: `#${tag} ×`, on: { click: () => { state.tags = state.tags.filter((other) => other !== tag); drawTags(); search(); $("tag").focus(); } } })));
}

export function addTag() {
  const tag = $("tag").value.trim().replace(/^#/, "");
  if (!tag) return;
  $("tag").value = "";
  if (!state.tags.includes(tag)) state.tags.push(tag);
  drawTags();
  search();
}

export function setScope(scope) {
  state.scope = scope;
  for (const button of document.querySelectorAll("[data-scope]")) button.setAttribute("aria-pressed", String(button.dataset.scope === scope));
  for (const control of [...controls(), $("kind")]) control.closest(".pair").hidden = scope === "registry";
  document.querySelector(".controls .more").hidden = scope === "registry";
}

export function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme;
  $("theme").textContent = { light: "☀", dark: "☾" }[theme] ?? "◐";
  $("theme").setAttribute("aria-label", `Theme: ${theme || "system default"}`);
  $("theme").title = $("theme").getAttribute("aria-label");
}

export function openFilters(open) {
  $("controls").classList.toggle("open", open);
  $("open-filters").setAttribute("aria-expanded", String(open));
}

export function restore() {
  const saved = new URLSearchParams(location.search);
  $("query").value = saved.get("q") ?? "";
  for (const control of [...controls(), $("kind")]) {
    const wanted = saved.get(control.id);
    if (!wanted) continue;
    if (control.tagName === "SELECT" && ![...control.options].some((o) => o.value === wanted)) continue;
    if (control.type === "checkbox") control.checked = wanted === "true"; else control.value = wanted;
  }
  state.tags = saved.getAll("tag");
  drawTags();
  if (saved.get("scope") === "registry") setScope("registry");
}
