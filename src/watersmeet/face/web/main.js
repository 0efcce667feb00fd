// The start of the page: every control gets its handler.

import { getAnswer } from "./answer.js";
import { call } from "./api.js";
import { addTag, openFilters, restore, setScope, setTheme } from "./controls.js";
import { openDocument } from "./document.js";
import { $, make, note, straight } from "./dom.js";
import { explain } from "./explain.js";
import { showIndex, showStatus } from "./index.js";
import { pressed } from "./keys.js";
import { showQuality } from "./quality.js";
import { search, searchLater } from "./search.js";
import { closeDetail } from "./selection.js";
import { controls, state } from "./state.js";

export async function start() {
  setTheme(localStorage.getItem("theme") ?? "");
  const onQuality = location.pathname === "/quality";
  const toSearch = () => location.assign(`/?${new URLSearchParams({ q: $("query").value })}`);
  $("ask").addEventListener("submit", (event) => { event.preventDefault(); onQuality ? toSearch() : search(); });
  if (!onQuality) $("query").addEventListener("input", searchLater);
  for (const control of [...controls(), $("kind")]) control.addEventListener("change", search);
  $("tag").addEventListener("change", addTag);
  $("open-filters").addEventListener("click", () => openFilters(!$("controls").classList.contains("open")));
  $("open-keys").addEventListener("click", () => $("keys").showModal());
  $("open-index").addEventListener("click", async () => {
    $("index").showModal();
    try { showIndex(await call("/api/status")); } catch (problem) { $("index-body").textContent = straight(problem.message); }
  });
  $("get-answer").addEventListener("click", getAnswer);
  $("theme").addEventListener("click", () => {
    const next = { "": "light", light: "dark", dark: "" }[document.documentElement.dataset.theme ?? ""];
    next ? localStorage.setItem("theme", next) : localStorage.removeItem("theme");
    setTheme(next);
  });
  for (const button of document.querySelectorAll("[data-scope]")) {
    button.addEventListener("click", () => { setScope(button.dataset.scope); search(); });
  }
  for (const button of document.querySelectorAll("[data-close]")) button.addEventListener("click", () => button.closest("dialog").close());
  $("access-form").addEventListener("submit", () => { sessionStorage.setItem("token", $("token").value.trim()); location.reload(); });
  $("back").addEventListener("click", () => closeDetail());
  $("show-document").addEventListener("click", () => openDocument(state.here));
  $("show-explain").addEventListener("click", () => explain(state.here));
  document.addEventListener("keydown", pressed);
  if (onQuality) return showQuality();
  try {
    showStatus(await call("/api/status"));
  } catch (problem) {
    note(`The index cannot be read: ${problem.message}`);
  }
  restore();
  if ($("query").value) search();
  if (matchMedia("(min-width: 821px)").matches) $("query").focus();
  const listed = await call("/api/search/tags").catch(() => null);
  const tags = listed?.tags ?? listed ?? [];
  if (Array.isArray(tags)) {
    $("tags").append(...tags.slice(0, 500).map((one) => make("option", { value: typeof one === "string" ? one : one.tag ?? one.name })));
  }
}

start();
