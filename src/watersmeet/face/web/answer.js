// Answers with citations, and follow-up questions.

import { events } from "./api.js";
import { showDocument } from "./document.js";
import { $, located, make } from "./dom.js";
import { openResult } from "./results.js";
import { keep } from "./search.js";
import { request, state } from "./state.js";
import { marked } from "./words.js";

const newConversation = () => [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
let conversation = newConversation();

export function closeAnswer() {
  state.asking?.abort();
  state.asking = null;
  conversation = newConversation();
  $("answer").hidden = true;
  $("turns").replaceChildren();
  $("follow-up").value = "";
  $("get-answer").hidden = !$("query").value.trim() || state.scope !== "passages";
}

export function getAnswer() {
  const { query } = request();
  if (!query || state.scope !== "passages") return;
  closeAnswer();
  keep();
  $("get-answer").hidden = true;
  ask(query);
}

export function followUp(event) {
  event.preventDefault();
  const question = $("follow-up").value.trim();
  if (!question) return;
  $("follow-up").value = "";
  $("turns").append(make("p", { class: "question", text: question }));
  ask(question);
}

async function ask(question) {
  state.asking?.abort();
  const asking = state.asking = new AbortController();
  const { filters } = request();
  const turn = make("div", { class: "turn" }, make("p", { text: "…" }));
  let text = "";
  $("turns").append(turn);
  $("answer").hidden = false;
  $("answer").setAttribute("aria-busy", "true");
  try {
    await events("/api/chat", { question, conversation_id: conversation, stream: true, ...(filters ? { filters } : {}) },
      asking.signal, (name, data) => {
        if (name === "text") showAnswer(turn, (text += data.text), []);
        if (name === "answer") showAnswer(turn, data.answer, data.citations, data);
        if (name === "error") throw new Error([data.detail, data.hint].filter(Boolean).join(". "));
      });
  } catch (problem) {
    if (problem.name !== "AbortError") turn.append(make("p", { class: "note", text: `No answer: ${problem.message}` }));
  } finally {
    if (state.asking === asking) $("answer").removeAttribute("aria-busy");
  }
}

function showAnswer(turn, text, citations, whole = null) {
  const body = text.split(/\n{2,}/).map((paragraph) => make("p", {}, ...cited(paragraph, citations)));
  const unchecked = citations.filter((one) => !one.checked);
  if (whole?.statements?.length && !whole.supported) {
    body.push(make("p", { class: "note", text: "Not every statement is supported by what it cites"
      + (unchecked.length ? `: ${unchecked.map((one) => `[${one.n}?]`).join(" ")} could not be confirmed.` : ".") }));
  }
  if (whole?.nearest?.length) {
    body.push(make("ul", { class: "list" }, whole.nearest.map((one) => make("li", {}, passageButton(one, located(one.document, one.where ?? ""))))));
  }
  if (whole?.model) body.push(make("p", { class: "meta", text: whole.model === "extractive" ? "Quoted from the documents" : `By ${whole.model}` }));
  turn.replaceChildren(...body);
}

function cited(text, citations) {
  const parts = [];
  let last = 0;
  const plain = (part) => parts.push(...inline(part.replaceAll("\\[", "[")));
  for (const match of text.matchAll(/(?<!\\)\[(\d{1,3})(\?)?\]/g)) {
    plain(text.slice(last, match.index));
    parts.push(citation(Number(match[1]), Boolean(match[2]), citations));
    last = match.index + match[0].length;
  }
  plain(text.slice(last));
  return parts;
}

// marks inside of a line: code, strong, and the text of links
function inline(text) {
  return text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*|\[\[[^[\]\n]+\]\]|\[[^[\]\n]+\]\([^()\s]+\))/).flatMap((part, n) => {
    if (n % 2 === 0) return marked(part);
    if (part.startsWith("`")) return [make("code", { text: part.slice(1, -1) })];
    if (part.startsWith("**")) return [make("strong", {}, ...marked(part.slice(2, -2)))];
    return marked(part.startsWith("[[") ? part.slice(2, -2).split("|").at(-1) : part.slice(1, part.indexOf("](")));
  });
}

function citation(n, isUnchecked, citations) {
  const found = citations.find((one) => one.n === n);
  const name = isUnchecked ? `[${n}?]` : `[${n}]`;
  const where = found?.id ? located(found.document, found.where) : "not among the passages";
  const title = `${isUnchecked ? "Not confirmed: " : ""}${found ? where : ""}`;
  const look = `cite${isUnchecked ? " unchecked" : ""}`;
  if (!found?.id) return make("span", { class: look, title, text: name });
  return passageButton(found, name, { class: look, title, "aria-label": `${name} ${title}` });
}

// a button that opens a passage: its result, if it is listed, else its document
function passageButton(found, text, options = { class: "link" }) {
  const open = () => {
    const at = state.results.findIndex((result) => result.id === found.id);
    if (at >= 0) openResult(at); else showDocument({ document: found.document, chunk: found.id, anchor: "" }, { isStep: true });
  };
  return make("button", { ...options, type: "button", text, on: { click: open } });
}
