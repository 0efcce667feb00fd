// Scope, expert controls and theme.

import { drawChosen } from "./facets.js";
import { $ } from "./dom.js";
import { controls, state, valueOf } from "./state.js";

const DATES = ["since", "before"];
export const isExpert = () => !$("expert").hidden;

export function showScope() {
  for (const button of document.querySelectorAll("[data-scope]")) button.setAttribute("aria-pressed", String(button.dataset.scope === state.scope));
  const isRegistry = state.scope === "registry";
  for (const key of ["kind", "since"]) document.querySelector(`[data-facet="${key}"]`).hidden = isRegistry;
  if (isRegistry) document.querySelector('[data-facet="collection"]').hidden = true;
  $("open-expert").hidden = isRegistry;
  if (isRegistry) setExpert(false);
  drawChosen();
}

export function setScope(scope) {
  state.scope = scope;
  showScope();
}

// expert controls behind one button; they open by themselves where an address sets one of them
export function setExpert(isOpen) {
  $("expert").hidden = !isOpen;
  $("open-expert").setAttribute("aria-expanded", String(isOpen));
  document.body.classList.toggle("expert-view", isOpen);
}
export function openExpertIfUsed() {
  if (state.scope === "passages" && controls().some((one) => !DATES.includes(one.id) && valueOf(one))) setExpert(true);
}

export function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme;
  $("theme").textContent = { light: "☀", dark: "☾" }[theme] ?? "◐";
  $("theme").setAttribute("aria-label", `Theme: ${theme || "system default"}`);
  $("theme").title = $("theme").getAttribute("aria-label");
}

export function openFilters(isOpen) {
  $("controls").classList.toggle("open", isOpen);
  $("open-filters").setAttribute("aria-expanded", String(isOpen));
}
