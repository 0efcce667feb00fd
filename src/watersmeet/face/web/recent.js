// Recent searches. They stay in this browser, can be cleared, and need not be kept.

import { $, make } from "./dom.js";

const KEY = "recent-searches";
const OFF = "recent-searches-off";
const MOST = 10;

function read() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter((one) => typeof one?.query === "string" && typeof one?.words === "string") : [];
  } catch { return []; }
}
const isOff = () => localStorage.getItem(OFF) === "yes";

export function keepSearch(query, words) {
  if (isOff()) return;
  const others = read().filter((one) => one.query !== query && !query.startsWith(one.query));
  localStorage.setItem(KEY, JSON.stringify([{ query, words }, ...others].slice(0, MOST)));
}

export function showRecent() {
  const kept = read();
  const off = isOff();
  $("recent").hidden = (!kept.length && !off) || Boolean($("query").value.trim());
  const forget = (event) => { localStorage.removeItem(KEY); redraw(event); };
  const turn = (event) => { off ? localStorage.removeItem(OFF) : (localStorage.setItem(OFF, "yes"), localStorage.removeItem(KEY)); redraw(event); };
  $("recent").replaceChildren(make("h2", { text: "Recent searches" }),
    off ? make("p", { text: "They are not kept." })
      : make("ul", { class: "recent" }, kept.map((one) => make("li", {}, make("a", { href: `/?${one.words}`, text: one.query })))),
    make("p", { class: "meta" }, off ? null : make("button", { class: "plain", type: "button", id: "forget", text: "Clear", on: { click: forget } }),
      make("button", { class: "plain", type: "button", id: "keep-recent", text: off ? "Keep recent searches" : "Do not keep them", on: { click: turn } }),
      make("span", { text: "They are kept in this browser only." })));
}

function redraw() {
  showRecent();
  ($("recent").hidden ? $("query") : $("keep-recent")).focus();
}
