// A document with the passage marked.

import { call } from "./api.js";
import { $, located, make, place } from "./dom.js";
import { mark, openPane } from "./selection.js";
import { state } from "./state.js";
import { marked, unwrapped } from "./words.js";

export async function openDocument(at, focus = true) {
  const result = state.results[at];
  mark(at);
  openPane("document");
  try {
    const found = await call(`/api/documents/${encodeURIComponent(result.document)}`);
    if (state.here !== at || state.view !== "document") return;
    showDocument(found, result.text, result.where);
    related(result.document, at);
  } catch (problem) {
    $("detail-body").replaceChildren(make("p", { class: "note", text: `The document cannot be shown: ${problem.message}` }));
  }
  if (focus) $("detail").focus({ preventScroll: true });
}

function showDocument(found, passage, where) {
  const tags = [].concat(found.fields?.tags ?? []);
  const body = [make("h2", { text: found.title }), make("p", { class: "meta" }, place(located(found.path, where), found.path, where),
    tags.map((tag) => make("span", { class: "badge", text: `#${tag}` })))];
  const start = passage ? found.text.indexOf(passage) : -1;
  const fence = { inside: false };
  if (start < 0) body.push(...blocks(found.text, fence));
  else {
    body.push(...blocks(found.text.slice(0, start), fence));
    body.push(make("div", { class: "passage", id: "passage", role: "group", "aria-label": "The passage that was found" },
      blocks(passage, fence)));
    body.push(...blocks(found.text.slice(start + passage.length), fence));
  }
  $("detail-body").replaceChildren(...body);
  $("detail").scrollTop = 0;
  const target = $("passage");
  if (target) $("detail").scrollTop = Math.max(0, target.offsetTop - $("detail").offsetTop - 90);
}

function blocks(text, fence) {
  const made = [];
  let kept = [], kind = "";
  const flush = () => {
    const whole = kept.join("\n").replace(/^\n+|\n+$/g, "");
    const joined = kind === "code" ? whole : unwrapped(whole);
    if (joined) made.push(make("p", { class: `text ${kind}`.trim() }, ...marked(joined)));
    kept = [];
  };
  for (const line of text.split("\n")) {
    const edge = /^\s*(```|~~~)/.test(line);
    const next = fence.inside || edge ? "code" : /^#{1,6}\s/.test(line) ? "head" : "";
    if (next !== kind || next === "head") { flush(); kind = next; }
    if (edge) fence.inside = !fence.inside;
    else kept.push(next === "head" ? line.replace(/^#+\s+/, "") : line);
  }
  flush();
  return made;
}

async function related(identity, at) {
  const answer = await call(`/api/related/${encodeURIComponent(identity)}`).catch(() => null);
  if (!answer?.results?.length || state.here !== at || state.view !== "document") return;
  const go = (other) => async () => {
    const found = await call(`/api/documents/${encodeURIComponent(other)}`).catch(() => null);
    if (found) { showDocument(found, "", ""); $("detail").focus({ preventScroll: true }); }
  };
  $("detail-body").append(make("h3", { text: "Linked documents" }), make("ul", { class: "list" }, answer.results.map((one) =>
    make("li", {}, make("button", { class: "link", type: "button", text: one.title, on: { click: go(one.document) } }),
      make("span", { class: "meta where", text: ` ${one.document}` })))));
}
