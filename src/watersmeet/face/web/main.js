// The start of the page: every control gets its handler, and the address says what to show.

import { readAddress, searchKey } from "./addresses.js";
import { closeAnswer, followUp, getAnswer } from "./answer.js";
import { call } from "./api.js";
import { isExpert, openExpertIfUsed, openFilters, setExpert, setScope, setTheme, showScope } from "./controls.js";
import { followLink, openDocument, showNamed } from "./document.js";
import { $, note, straight } from "./dom.js";
import { explain } from "./explain.js";
import { addTag, closeMenus, drawChosen, knowTags, menus } from "./facets.js";
import { showIndex, showStatus } from "./index.js";
import { pressed } from "./keys.js";
import { showQuality } from "./quality.js";
import { showRecent } from "./recent.js";
import { clear, keep, more, search, searchLater } from "./search.js";
import { closeDetail } from "./selection.js";
import { controls, state } from "./state.js";

function searchParts() {
  $("ask").addEventListener("submit", (event) => { event.preventDefault(); if (searchKey() !== state.searched) search(); keep(); });
  $("query").addEventListener("input", searchLater);
  $("tag").addEventListener("change", addTag);
  for (const control of controls()) {
    control.addEventListener("change", () => {
      if (control.id === "since") state.since = "";
      drawChosen();
      search(true);
    });
  }
  for (const button of document.querySelectorAll("[data-scope]")) {
    button.addEventListener("click", () => { setScope(button.dataset.scope); search(true); });
  }
  for (const menu of menus()) menu.addEventListener("toggle", () => { if (menu.open) closeMenus(menu); });
  document.addEventListener("click", (event) => closeMenus(event.target.closest("details.facet")));
  $("open-filters").addEventListener("click", () => openFilters(!$("controls").classList.contains("open")));
  $("open-expert").addEventListener("click", () => setExpert(!isExpert()));
  $("show-more").addEventListener("click", more);
}

function otherParts() {
  $("open-keys").addEventListener("click", () => $("keys").showModal());
  $("open-index").addEventListener("click", async () => {
    $("index").showModal();
    try { showIndex(await call("/api/status")); } catch (problem) { $("index-body").textContent = straight(problem.message); }
  });
  $("get-answer").addEventListener("click", getAnswer);
  $("follow").addEventListener("submit", followUp);
  $("close-answer").addEventListener("click", () => { closeAnswer(); $("get-answer").focus(); });
  $("theme").addEventListener("click", () => {
    const next = { "": "light", light: "dark", dark: "" }[document.documentElement.dataset.theme ?? ""];
    next ? localStorage.setItem("theme", next) : localStorage.removeItem("theme");
    setTheme(next);
  });
  for (const button of document.querySelectorAll("[data-close]")) button.addEventListener("click", () => button.closest("dialog").close());
  $("access-form").addEventListener("submit", () => { sessionStorage.setItem("token", $("token").value.trim()); location.reload(); });
  $("back").addEventListener("click", () => closeDetail());
  $("show-document").addEventListener("click", () => openDocument(state.here));
  $("show-explain").addEventListener("click", () => explain(state.here));
  $("detail-body").addEventListener("click", followLink);
  document.addEventListener("keydown", pressed);
}

// what the address says: the search, if it is another one, and the document
async function showAddressed() {
  const named = readAddress();
  showScope();
  openExpertIfUsed();
  const isOther = searchKey() !== state.searched;
  state.shown = named;
  state.searched = searchKey();
  state.kept = Boolean($("query").value);
  const searching = !$("query").value ? clear() : isOther ? search() : null;
  if (!named) document.title = $("query").value ? `${straight($("query").value.trim())} · watersmeet` : "watersmeet";
  showNamed(named);
  await searching;
}

async function start() {
  setTheme(localStorage.getItem("theme") ?? "");
  otherParts();
  if (location.pathname === "/quality") return showQuality();
  searchParts();
  addEventListener("popstate", showAddressed);
  try {
    showStatus(await call("/api/status"));
  } catch (problem) {
    note(`The index cannot be read: ${problem.message}`);
  }
  showRecent();
  showAddressed();
  if (matchMedia("(min-width: 821px)").matches && $("detail").hidden) $("query").focus();
  const listed = await call("/api/search/tags").catch(() => null);
  if (Array.isArray(listed?.tags)) knowTags(listed.tags);
}

start();
