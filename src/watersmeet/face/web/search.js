// A search: sent while one types, kept in the address.

import { searchKey, showAddress } from "./addresses.js";
import { closeAnswer } from "./answer.js";
import { call } from "./api.js";
import { $, note } from "./dom.js";
import { drawFacets } from "./facets.js";
import { keepSearch, showRecent } from "./recent.js";
import { showCards } from "./registry.js";
import { addResults, showResults } from "./results.js";
import { closeDetail } from "./selection.js";
import { LAST, PAGE, request, state } from "./state.js";
import { wordsOf } from "./words.js";

const DELAY_MS = 120;
const KEEP_MS = 2000;
let resting = 0;

export function searchLater() {
  clearTimeout(state.timer);
  state.timer = setTimeout(() => search(), DELAY_MS);
}

// `isStep`: a filter, or a search that was begun anew: one may go back to the one before
export async function search(isStep = false) {
  clearTimeout(state.timer);
  state.abort?.abort();
  const body = request();
  const isNew = searchKey() !== state.searched;
  if (isNew && !$("detail").hidden) closeDetail(false, false);
  showAddress(isStep || (state.kept && isNew));
  if (isNew) state.kept = false;
  state.searched = searchKey();
  closeAnswer();
  if (!body.query) return clear();
  state.abort = new AbortController();
  const number = ++state.number;
  $("left").setAttribute("aria-busy", "true");
  try {
    const answer = await found(body, state.abort.signal);
    if (number !== state.number) return;
    state.words = wordsOf(body.query);
    $("recent").hidden = true;
    state.scope === "registry" ? showCards(answer) : showResults(answer);
    if (state.scope !== "registry") drawFacets(answer.facets);
    showMore(state.scope !== "registry" && answer.results.length === PAGE);
    keepLater(body.query);
  } catch (problem) {
    if (problem.name === "AbortError" || number !== state.number) return;
    clear();
    $("welcome").replaceChildren();
    note(`The search failed: ${problem.message}`);
  } finally {
    if (number === state.number) $("left").removeAttribute("aria-busy");
  }
}

function found(body, signal) {
  if (state.scope !== "registry") return call("/page/search", body, signal);
  const tags = state.filters.tag.length ? { tags: state.filters.tag } : {};
  return call("/api/search/semantic", { query: body.query, max_results: PAGE, ...tags }, signal);
}

export async function more() {
  if ($("show-more").hidden || $("show-more").disabled) return;
  const number = state.number;
  $("show-more").disabled = true;
  try {
    const answer = await call("/page/search", request(state.results.length), state.abort?.signal);
    if (number !== state.number) return;
    addResults(answer.results);
    showMore(answer.results.length === PAGE && state.results.length + PAGE <= LAST);
  } catch (problem) {
    if (problem.name !== "AbortError") note(`No further results: ${problem.message}`);
  } finally {
    $("show-more").disabled = false;
  }
}

function showMore(is) { $("show-more").hidden = !is; }

// what one stays with is worth keeping; what one types through is not
function keepLater(query) {
  clearTimeout(resting);
  resting = setTimeout(() => keep(query), KEEP_MS);
}
export function keep(query = $("query").value.trim()) {
  clearTimeout(resting);
  if (!query) return;
  state.kept = true;
  keepSearch(query, searchKey());
}

export function clear() {
  clearTimeout(resting);
  state.number++;
  state.results = [];
  state.here = -1;
  for (const id of ["results", "cards", "notes"]) $(id).replaceChildren();
  $("left").removeAttribute("aria-busy");
  $("summary").textContent = "";
  $("welcome").hidden = false;
  showMore(false);
  drawFacets(null);
  showRecent();
}
