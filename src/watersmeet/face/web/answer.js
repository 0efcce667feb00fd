// An answer with citations.

import { events } from "./api.js";
import { openDocument } from "./document.js";
import { $, located, make } from "./dom.js";
import { select } from "./selection.js";
import { request, state } from "./state.js";
import { marked } from "./words.js";

const CONVERSATION = [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

export function closeAnswer() {
  state.asking?.abort();
  state.asking = null;
  $("answer").hidden = true;
  $("answer").replaceChildren();
  $("get-answer").hidden = !$("query").value.trim() || state.scope !== "passages";
}

export async function getAnswer() {
  const { query, filters } = request();
  if (!query || state.scope !== "passages") return;
  closeAnswer();
  const asking = state.asking = new AbortController();
  let text = "";
  $("answer").hidden = false;
  $("answer").setAttribute("aria-busy", "true");
  $("answer").replaceChildren(make("p", { text: "…" }));
  try {
    await events("/api/chat", { question: query, conversation_id: CONVERSATION, stream: true, ...(filters ? { filters } : {}) },
      asking.signal, (name, data) => {
        if (name === "text") showAnswer((text += data.text), []);
        if (name === "answer") showAnswer(data.answer, data.citations, data);
        if (name === "error") throw new Error([data.detail, data.hint].filter(Boolean).join(". "));
      });
  } catch (problem) {
    if (problem.name !== "AbortError") $("answer").append(make("p", { class: "note", text: `No answer: ${problem.message}` }));
  } finally {
    if (state.asking === asking) $("answer").removeAttribute("aria-busy");
  }
}

function showAnswer(text, citations, whole = null) {
  const body = text.split(/\n{2,}/).map((paragraph) => make("p", {}, ...cited(paragraph, citations)));
  const unchecked = citations.filter((one) => !one.checked);
  if (whole?.statements?.length && !whole.supported) {
    body.push(make("p", { class: "note", text: "Not every statement is supported by what it cites"
      + (unchecked.length ? `: ${unchecked.map((one) => `[${one.n}?]`).join(" ")} could not be confirmed.` : ".") }));
  }
  if (whole?.model) body.push(make("p", { class: "meta", text: whole.model === "extractive" ? "Quoted from the documents" : `By ${whole.model}` }));
  $("answer").replaceChildren(...body);
}

function cited(text, citations) {
  const parts = [];
  let last = 0;
  const plain = (part) => parts.push(...marked(part.replaceAll("\\[", "[")));
  for (const match of text.matchAll(/(?<!\\)\[(\d{1,3})(\?)?\]/g)) {
    plain(text.slice(last, match.index));
    parts.push(citation(Number(match[1]), Boolean(match[2]), citations));
    last = match.index + match[0].length;
  }
  plain(text.slice(last));
  return parts;
}

function citation(n, unchecked, citations) {
  const found = citations.find((one) => one.n === n);
  const at = found ? state.results.findIndex((result) => result.id === found.id) : -1;
  const name = unchecked ? `[${n}?]` : `[${n}]`;
  const place = found?.id ? located(found.document, found.where) : "not among the passages";
  const title = `${unchecked ? "Not confirmed: " : ""}${found ? place : ""}`;
  const look = `cite${unchecked ? " unchecked" : ""}`;
  if (at < 0) return make("span", { class: look, title, text: name });
  return make("button", { class: look, type: "button", title, "aria-label": `${title}, result ${at + 1}`, text: name,
    on: { click: () => { select(at, false); openDocument(at); } } });
}
