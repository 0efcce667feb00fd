// The list of results, by document, and what is said above it.

import { documentAddress } from "./addresses.js";
import { openDocument } from "./document.js";
import { $, figure, located, make, meter, note, ORDER, place, plural, signalClass } from "./dom.js";
import { explain } from "./explain.js";
import { originalLink } from "./original.js";
import { build } from "./richtext.js";
import { mark, rowOf, select } from "./selection.js";
import { REGISTRY, state } from "./state.js";
import { marked } from "./words.js";

const WORDS = { sure: "a sure match", likely: "a likely match", "nothing fits": "nothing fits well" };

// the confidence in words, to stand behind a count
export function confidence(answer) {
  const words = answer.confidence_words || (answer.no_good_match ? "nothing fits" : "");
  return words ? `, ${WORDS[words] ?? words}` : "";
}

export function notes(answer) {
  $("notes").replaceChildren();
  for (const text of answer.notes ?? []) if (!text.startsWith("no good match")) note(text);
  for (const failure of answer.failures ?? []) {
    note(`Without ${failure.by}: ${failure.reason}${failure.hint ? ` (${failure.hint})` : ""}`);
  }
  for (const [name, reason] of Object.entries(answer.silent ?? {})) note(`${name} not used: ${reason}`, true);
}

export function showResults(answer) {
  $("welcome").hidden = true;
  $("cards").replaceChildren();
  $("results").replaceChildren();
  $("results").classList.toggle("far", Boolean(answer.no_good_match));
  state.results = [];
  state.answer = answer;
  state.here = -1;
  notes(answer);
  addResults(answer.results);
  const at = state.results.findIndex((result) => result.id === state.shown?.chunk);
  if (at < 0) return;
  unfold(at);
  mark(at);
  $("show-explain").hidden = false;
}

// further results go to the documents that are shown already
export function addResults(results) {
  const seen = new Set(state.results.map((result) => result.id));
  for (const result of results.filter((one) => !seen.has(one.id))) {
    const at = state.results.push(result) - 1;
    const group = [...$("results").children].find((one) => one.dataset.document === result.document);
    if (group) addToGroup(group, row(result, at)); else $("results").append(newGroup(result, at));
  }
  summary();
}

function summary() {
  const answer = state.answer;
  const count = state.results.length;
  const documents = $("results").children.length;
  const how = `, ${answer.mode}, recipe ${answer.recipe}, ${figure(answer.took_ms, 1)} ms, confidence ${figure(answer.confidence ?? null, 2)}`;
  const found = `${plural(count, "result")} in ${plural(documents, "document")}`;
  $("summary").replaceChildren(count === 0 ? "Nothing found. Try fewer or other words, or fewer filters."
    : answer.no_good_match ? `Nothing fits this well. The nearest: ${found}` : found + confidence(answer),
  make("span", { class: "for-experts", text: count ? how : "" }));
}

function newGroup(result, at) {
  return make("li", { class: "document", "data-document": result.document }, row(result, at));
}

function addToGroup(group, one) {
  let rest = group.querySelector(".rest");
  if (!rest) {
    rest = make("div", { class: "rest", hidden: true });
    const open = make("button", { class: "plain from-page", type: "button", "aria-expanded": "false",
      on: { click: () => showRest(group, rest.hidden) } });
    group.append(open, rest);
  }
  rest.append(one);
  label(group);
}

function label(group) {
  const [open, rest] = [group.querySelector(".from-page"), group.querySelector(".rest")];
  const count = rest.children.length;
  open.textContent = rest.hidden ? `More from this page (${count})` : "Fewer from this page";
  open.setAttribute("aria-expanded", String(!rest.hidden));
}

export function showRest(group, isOpen) {
  const rest = group?.querySelector(".rest");
  if (!rest) return;
  rest.hidden = !isOpen;
  label(group);
}

// the row of a result that is folded away is shown
export function unfold(at) {
  const row = rowOf(at);
  if (row?.closest(".rest")?.hidden) showRest(row.closest(".document"), true);
}

export function crumb(result) {
  const path = (result.headings[0] === result.title ? result.headings : [result.title, ...result.headings]).filter(Boolean);
  const parts = [];
  path.forEach((part, at) => parts.push(at ? make("span", { class: "sep", "aria-hidden": "true", text: "›" }) : null,
    make("span", {}, ...marked(part))));
  return make("span", { class: "crumb" }, parts);
}

function votes(result) {
  const ranked = result.evidence.filter((e) => ORDER.includes(e.by) && !e.filled);
  return ranked.sort((a, b) => ORDER.indexOf(a.by) - ORDER.indexOf(b.by))
    .map((e) => make("span", { class: `vote by-${signalClass(e.by)}`, text: `${e.by} #${e.rank}` }));
}

function row(result, at) {
  const open = make("a", { class: "link", href: documentAddress({ document: result.document, chunk: result.id }),
    on: { focus: () => mark(at), click: (event) => { if (isPlain(event)) { event.preventDefault(); event.stopPropagation(); openDocument(at); } else event.stopPropagation(); } } },
  crumb(result));
  const why = make("button", { class: "plain why", type: "button", text: "Why?", "aria-label": `Why? Explain result ${at + 1}`,
    on: { click: (event) => { event.stopPropagation(); explain(at); } } });
  return make("div", { class: "result", "data-at": at, on: { click: (event) => { if (!event.target.closest("a, button, summary")) openDocument(at); } } },
    make("h2", {}, open),
    make("div", { class: "meta" },
      place(located(result.document, result.where), result.address, ""),
      REGISTRY.includes(result.kind) || result.kind !== "document" ? make("span", { class: "badge", text: result.kind }) : null,
      make("span", { class: "score" }, meter(result.score), make("span", { class: "for-experts", text: ` ${figure(result.score)}` })),
      originalLink(result)),
    make("div", { class: "snippet text" }, result.snippet.flatMap((node) => build(node))),
    make("div", { class: "votes" }, votes(result), why));
}

const isPlain = (event) => !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0;

export function openResult(at) {
  unfold(at);
  select(at, false);
  openDocument(at);
}
