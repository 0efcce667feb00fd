// Texts of documents: built from the server's tree of elements, never from markup. What is not named here is text.

import { documentAddress } from "./addresses.js";
import { make } from "./dom.js";
import { state } from "./state.js";
import { marked } from "./words.js";

const NAMES = new Set(("a abbr b blockquote br cite code del details dfn div em h1 h2 h3 h4 h5 h6 hr i ins kbd li mark ol p pre q s samp "
  + "small span strong sub summary sup table tbody td th thead tr u ul var").split(" "));
const HEADINGS = { h1: "h3", h2: "h4", h3: "h5", h4: "h6", h5: "h6", h6: "h6" };  // the page has headings above them
const CLASSES = /^[a-z -]{1,60}$/;
const OPENED = /^(https?:[/][/]|mailto:)[^\s]+$/i;
const SLICE_MS = 8;
export const anchorId = (anchor) => `at-${anchor}`;

// `isWhole`: a document, whose parts have anchors; else a snippet
export function build(node, isWhole = false) {
  if (!Array.isArray(node)) return marked(String(node));
  const [name, about, ...nodes] = node;
  const inside = nodes.flatMap((one) => build(one, isWhole));
  if (!NAMES.has(name)) return inside;
  const options = {};
  if (CLASSES.test(about.class ?? "")) options.class = about.class;
  if (about.id && isWhole) options.id = anchorId(about.id);
  if (name === "ol" && Number.isInteger(about.start)) options.start = about.start;
  if (name === "a") return [link(about, options, inside)];
  if (about.label) return [make("span", { ...options, role: "img", "aria-label": about.label })];
  if (about.class === "dead") options.title = "Not in the index";
  if (name === "pre" || name === "table") return [make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": name === "pre" ? "Code" : "Table" },
    make(name, options, inside))];
  if (about.class === "passage") return [make("div", { ...options, id: "passage", role: "group", "aria-label": "The passage that was found" }, inside)];
  if (HEADINGS[name]) return [make(HEADINGS[name], { ...options, class: `as-${name}` }, inside)];
  return [make(name, options, inside)];
}

function link(about, options, inside) {
  if (about.href) {
    if (!OPENED.test(about.href)) return make("span", { class: "dead" }, inside);
    return make("a", { ...options, class: "outside", href: about.href, target: "_blank", rel: "noopener noreferrer" }, inside);
  }
  const place = { document: about.document ?? state.shown?.document ?? "", anchor: about.anchor ?? "" };
  return make("a", { ...options, href: documentAddress(place), "data-document": place.document, "data-anchor": place.anchor }, inside);
}

// a long document is built in slices, so that the page answers meanwhile
export async function fill(parent, nodes, isWanted) {
  let start = performance.now();
  for (const node of nodes) {
    parent.append(...build(node, true));
    if (performance.now() - start < SLICE_MS) continue;
    await new Promise((resume) => setTimeout(resume));
    if (!isWanted()) return false;
    start = performance.now();
  }
  return true;
}
