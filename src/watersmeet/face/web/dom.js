// Elements of the page. Text from the server is never parsed as HTML.

export const $ = (id) => document.getElementById(id);
export const ORDER = ["lexical", "keyword", "dense", "sparse", "static", "exact", "graph", "neighbours"];
const SHOWN_ATTRIBUTES = ["title", "aria-label"];

// Bidi control characters are shown as escapes: else they could make text read as something else.
export const straight = (text) => String(text).replace(/[\u202a-\u202e\u2066-\u2069]/g, (found) => `\\u${found.charCodeAt(0).toString(16)}`);

export function make(name, options = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") node.className = value;
    else if (key === "text") node.textContent = straight(value);
    else if (key === "on") for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    else node.setAttribute(key, value === true ? "" : SHOWN_ATTRIBUTES.includes(key) ? straight(value) : value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child instanceof Node ? child : straight(child));
  return node;
}

export function bar(by, share) {
  const drawn = make("span", { class: `bar by-${signalClass(by)}` });
  drawn.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return drawn;
}
export const signalClass = (by) => (ORDER.includes(by) ? by : "other");
export const figure = (value, digits = 3) => (typeof value === "number" ? value.toFixed(digits) : String(value ?? "–"));
export const percent = (value) => `${Math.round(value * 100)} %`;
export const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

export function meter(share) {
  const inner = make("span");
  inner.style.width = percent(Math.max(0, Math.min(1, share))).replace(" ", "");
  return make("span", { class: "meter", "aria-hidden": "true" }, inner);
}
export function note(text, quiet = false) { $("notes").append(make("p", { class: quiet ? "note quiet for-experts" : "note", text })); }
export const located = (name, where) => name + (/^[:#]|^$/.test(where) ? "" : " ") + where;

// a place: a link if it is the address of a web page, else text
export function place(text, path, where = "") {
  if (!/^https?:[/][/][^\s]+$/i.test(path ?? "")) return make("span", { class: "where", text });
  const whole = path + (where.startsWith("#") && !path.includes("#") ? where : "");
  return make("a", { class: "where", href: whole, target: "_blank", rel: "noopener noreferrer", text,
    on: { click: (event) => event.stopPropagation() } });
}
