// The list of results and what is said above it.

import { openDocument } from "./document.js";
import { $, figure, located, make, meter, note, ORDER, percent, place, plural, signalClass } from "./dom.js";
import { explain } from "./explain.js";
import { closeDetail, mark, select } from "./selection.js";
import { REGISTRY, state } from "./state.js";
import { marked, snippet } from "./words.js";

export function confidence(answer) {
  const given = answer.confidence;
  if (given === undefined || given === null) return "";
  const words = answer.confidence_words ? ` (${answer.confidence_words})` : "";
  if (typeof given === "number") return `, confidence ${percent(given)}${words}`;
  if (typeof given === "string") return `, confidence ${given}`;
  const value = given.value ?? given.probability ?? given.score;
  return `, confidence ${given.level ?? ""} ${typeof value === "number" ? percent(value) : ""}`.replace(/\s+/g, " ").trimEnd();
}

export function notes(answer) {
  $("notes").replaceChildren();
  for (const text of answer.notes ?? []) note(text);
  if (answer.no_good_match && !answer.notes?.length && answer.results?.length) {
    note("No good match. The closest results are below.");
  }
  for (const failure of answer.failures ?? []) {
    note(`Without ${failure.by}: ${failure.reason}${failure.hint ? ` (${failure.hint})` : ""}`);
  }
  for (const [name, reason] of Object.entries(answer.silent ?? {})) note(`${name} not used: ${reason}`, true);
}

export function showResults(answer) {
  const same = state.results[state.here]?.id;
  $("welcome").hidden = true;
  $("cards").replaceChildren();
  state.results = answer.results;
  const count = answer.results.length;
  $("summary").textContent = count
    ? `${plural(count, "result")}, ${answer.mode}, recipe ${answer.recipe}, ${figure(answer.took_ms, 1)} ms${confidence(answer)}`
    : "Nothing found. Try fewer or other words, or fewer filters.";
  notes(answer);
  $("results").replaceChildren(...answer.results.map(row));
  state.here = -1;
  if ($("detail").hidden) return;
  const still = answer.results.findIndex((result) => result.id === same);
  if (still >= 0) select(still, false); else closeDetail(false);
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
  const open = make("button", { class: "link", type: "button", on: { focus: () => mark(at) } }, crumb(result));
  const why = make("button", { class: "plain why", type: "button", text: "Why?", "aria-label": `Why? Explain result ${at + 1}`,
    on: { click: (event) => { event.stopPropagation(); explain(at); } } });
  return make("li", { class: "result", on: { click: () => openDocument(at) } },
    make("h2", {}, open),
    make("div", { class: "meta" },
      place(located(result.document, result.where), result.path, result.where),
      REGISTRY.includes(result.kind) || result.kind !== "document" ? make("span", { class: "badge", text: result.kind }) : null,
      make("span", {}, meter(result.score), ` ${figure(result.score)}`)),
    make("p", { class: "snippet" }, ...marked(snippet(result.text))),
    make("div", { class: "votes" }, votes(result), why));
}
