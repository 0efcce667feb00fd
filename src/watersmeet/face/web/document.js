// A document with the passage marked. Its links lead on, and each has an address.

import { showAddress } from "./addresses.js";
import { call } from "./api.js";
import { $, located, make, place } from "./dom.js";
import { originalLink } from "./original.js";
import { anchorId, fill } from "./richtext.js";
import { keep } from "./search.js";
import { closeDetail, mark, openPane } from "./selection.js";
import { state } from "./state.js";

export function openDocument(at, focus = true) {
  const result = state.results[at];
  if (!result) return state.shown ? showDocument(state.shown, { focus }) : null;
  mark(at);
  keep();
  return showDocument({ document: result.document, chunk: result.id, anchor: "" }, { focus, isStep: focus });
}

// `isStep`: a new entry of the history; else the address is replaced, as when one goes through results
export async function showDocument(wanted, { focus = true, isStep = false, keepAddress = false } = {}) {
  const isSame = state.shown && $("detail").dataset.document === wanted.document && state.shown.chunk === wanted.chunk && state.view === "document";
  state.shown = { ...wanted, title: isSame ? state.shown.title : "" };
  const shown = state.shown;
  const isWanted = () => state.shown === shown && state.view === "document";
  openPane("document");
  if (!keepAddress) showAddress(isStep);
  try {
    if (!isSame) await load(shown, isWanted);
    if (!isWanted()) return;
    if (!keepAddress || shown.title) showAddress(false);
    scroll(shown.anchor);
  } catch (problem) {
    if (!isWanted()) return;
    $("detail").dataset.document = "";
    $("original").replaceChildren();
    $("detail-body").replaceChildren(make("p", { class: "note", text: `The document cannot be shown: ${problem.message}` }));
  }
  if (focus) $("detail").focus({ preventScroll: true });
}

async function load(shown, isWanted) {
  const words = shown.chunk ? `?chunk=${encodeURIComponent(shown.chunk)}` : "";
  const found = await call(`/page/document/${encodeURIComponent(shown.document)}${words}`);
  if (!isWanted()) return;
  Object.assign(shown, { title: found.title, document: found.document, anchors: found.anchors });
  $("detail").dataset.document = found.document;
  const body = make("div", { class: `text form-${found.form}` });
  $("original").replaceChildren(...[originalLink(found, true)].filter(Boolean));
  const [first, ...rest] = found.content;
  const repeats = /^h[1-6]$/.test(first?.[0]) && first.length === 3 && first[2] === found.title;  // the title is there already
  $("detail-body").replaceChildren(make("h2", { text: found.title, id: repeats ? anchorId(first[1].id) : null }),
    make("p", { class: "meta" }, place(located(found.path, found.where), found.address),
      found.modified ? make("span", { text: `changed ${found.modified}` }) : null,
      found.tags.map((tag) => make("span", { class: "badge", text: `#${tag}` }))),
    found.file_missing ? make("p", { class: "note quiet", text: "Its file is gone; this is what was indexed." }) : "", body);
  if (!await fill(body, repeats ? rest : found.content, isWanted)) return;
  related(found.document, isWanted);
}

function scroll(anchor) {
  const known = anchor && ($(anchorId(anchor)) ?? $(anchorId(anchor.toLowerCase())) ?? $(anchorId(state.shown.anchors?.[anchor] ?? "")));
  const target = known || $("passage");
  $("detail").scrollTop = 0;
  if (target) $("detail").scrollTop = Math.max(0, target.getBoundingClientRect().top - $("detail").getBoundingClientRect().top - 90);
  if (target) (target.firstElementChild ?? target).scrollIntoView({ block: "nearest" });  // the pane may reach below the window
  for (const one of document.querySelectorAll("#detail .arrived")) one.classList.remove("arrived");
  if (known) known.classList.add("arrived");
}

async function related(identity, isWanted) {
  const answer = await call(`/api/related/${encodeURIComponent(identity)}`).catch(() => null);
  if (!answer?.results?.length || !isWanted()) return;
  $("detail-body").append(make("h3", { text: "Linked documents" }), make("ul", { class: "list" }, answer.results.map((one) =>
    make("li", {}, make("button", { class: "link", type: "button", text: one.title,
      on: { click: () => follow({ document: one.document, chunk: "", anchor: "" }) } }),
    make("span", { class: "meta where", text: ` ${one.document}` })))));
}

const follow = (wanted) => showDocument(wanted, { isStep: true });

// links inside of a document
export function followLink(event) {
  const link = event.target.closest("a[data-document]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const document = link.dataset.document || state.shown.document;
  const isHere = document === state.shown.document;
  follow({ document, chunk: isHere ? state.shown.chunk : "", anchor: link.dataset.anchor });
}

// the document that the address names, or none
export function showNamed(wanted) {
  if (wanted) return showDocument(wanted, { focus: false, keepAddress: true });
  if (!$("detail").hidden) closeDetail(false, false);
  return null;
}
