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
