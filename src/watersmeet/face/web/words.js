// Words of the query, marked in texts.

import { make } from "./dom.js";
import { state } from "./state.js";

const STOP_WORDS = new Set(("a about an and any are as at be by can could did do does explain find for from get give had has have "
  + "how i if in into is it its me my of on or our should show tell that the their them there these they this those to up "
  + "was we were what when where which who why will with would you your").split(" "));

export function wordsOf(query) {
  const found = (query.match(/[\p{L}\p{N}][\p{L}\p{N}_.\-+#]*/gu) || []).map((word) => word.replace(/[.\-]+$/, ""));
  const kept = [...new Set(found.filter((word) => word && !STOP_WORDS.has(word.toLowerCase())))];
  if (!kept.length) return null;
  const parts = kept.sort((a, b) => b.length - a.length).map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"));
  return new RegExp(`(?<![\\p{L}\\p{N}_])(?:${parts.join("|")})(?:['’]?[\\p{L}\\p{N}_]{0,3})(?![\\p{L}\\p{N}_])`, "giu");
}

export function marked(text) {
  if (!state.words) return [text];
  const parts = [];
  let last = 0;
  for (const match of text.matchAll(state.words)) {
    parts.push(text.slice(last, match.index), make("mark", { text: match[0] }));
    last = match.index + match[0].length;
  }
  return [...parts, text.slice(last)].filter((part) => part !== "");
}

function shortened(line) {
  if (line.length <= 320) return line.replace(/^#+\s+/, "");
  const first = state.words ? line.search(new RegExp(state.words.source, "iu")) : 0;
  const from = first > 240 ? line.indexOf(" ", first - 120) + 1 : 0;
  return `${from ? "… " : ""}${line.slice(from, from + 320)} …`;
}

export function unwrapped(text) {
  const lines = [];
  let last = 0;
  for (const line of text.split("\n")) {
    const goes_on = last >= 60 && line.trim() && !/^\s*([-*+|>#]|\d+[.)]\s|```|~~~)|^\s{4,}/.test(line);
    if (goes_on) lines[lines.length - 1] += ` ${line.trim()}`; else lines.push(line.trimEnd());
    last = line.length;
  }
  return lines.join("\n");
}

export function snippet(text) {
  const lines = unwrapped(text).split("\n").filter((line) => /[\p{L}\p{N}]/u.test(line) && !/^\s*(```|~~~)/.test(line));
  const shares = lines.map((line) => new Set(state.words ? [...line.matchAll(state.words)].map((m) => m[0].toLowerCase()) : []));
  let best = 0, most = -1;
  for (let at = 0; at <= Math.max(0, lines.length - 3); at++) {
    const window = shares.slice(at, at + 3);
    const worth = new Set(window.flatMap((s) => [...s])).size * 10 + window.reduce((sum, s) => sum + s.size, 0);
    if (worth > most) { best = at; most = worth; }
  }
  const shown = lines.slice(best, best + 3);
  while (shown.length > 1 && /^#+\s/.test(shown.at(-1)) && !shares[best + shown.length - 1].size) shown.pop();
  return shown.map(shortened).join("\n");
}
