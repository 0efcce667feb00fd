// A search: sent while one types, remembered in the address.

import { closeAnswer } from "./answer.js";
import { call } from "./api.js";
import { $, note, straight } from "./dom.js";
import { showCards } from "./registry.js";
import { showResults } from "./results.js";
import { closeDetail } from "./selection.js";
import { controls, request, state } from "./state.js";
import { wordsOf } from "./words.js";

const DELAY_MS = 120;

export function searchLater() {
  clearTimeout(state.timer);
  state.timer = setTimeout(search, DELAY_MS);
}

export async function search() {
  clearTimeout(state.timer);
  state.abort?.abort();
  const body = request();
  remember(body);
  closeAnswer();
  if (!body.query) return clear();
  state.abort = new AbortController();
  const number = ++state.number;
  $("left").setAttribute("aria-busy", "true");
  try {
    const registry = state.scope === "registry";
    const answer = registry
      ? await call("/api/search/semantic", { query: body.query, max_results: 20, ...(state.tags.length ? { tags: state.tags } : {}) },
        state.abort.signal)
      : await call("/api/search", body, state.abort.signal);
    if (number !== state.number) return;
    state.words = wordsOf(body.query);
    registry ? showCards(answer) : showResults(answer);
  } catch (problem) {
    if (problem.name === "AbortError" || number !== state.number) return;
    clear();
    $("welcome").replaceChildren();
    $("summary").textContent = "";
    note(`The search failed: ${problem.message}`);
  } finally {
    if (number === state.number) $("left").removeAttribute("aria-busy");
  }
}

function remember(body) {
  const saved = new URLSearchParams();
  if (body.query) saved.set("q", body.query);
  for (const { id } of controls()) if (body[id]) saved.set(id, body[id]);
  if ($("kind").value) saved.set("kind", $("kind").value);
  for (const tag of state.tags) saved.append("tag", tag);
  if (state.scope !== "passages") saved.set("scope", state.scope);
  history.replaceState(null, "", saved.size ? `?${saved}` : location.pathname);
  document.title = body.query ? `${straight(body.query)} · watersmeet` : "watersmeet";
}

function clear() {
  state.results = [];
  state.here = -1;
  $("results").replaceChildren();
  $("cards").replaceChildren();
  $("notes").replaceChildren();
  $("summary").textContent = "";
  $("welcome").hidden = false;
  closeDetail(false);
}
