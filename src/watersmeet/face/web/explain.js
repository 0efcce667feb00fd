// The explanation of a rank: the contribution of each signal.

import { $, bar, figure, make, ORDER, signalClass } from "./dom.js";
import { crumb } from "./results.js";
import { mark, openPane } from "./selection.js";
import { state } from "./state.js";

export function explain(at, focus = true) {
  const result = state.results[at];
  if (!result) return;
  mark(at);
  openPane("explain");
  $("original").replaceChildren();
  const contributions = result.evidence.filter((e) => typeof e.contribution === "number");
  const steps = result.evidence.filter((e) => typeof e.factor === "number" || typeof e.bonus === "number");
  const total = contributions.reduce((sum, e) => sum + Math.max(0, e.contribution), 0) || 1;
  const most = Math.max(...contributions.map((e) => e.contribution), 1e-9);
  const order = (by) => (ORDER.includes(by) ? ORDER.indexOf(by) : 99);
  contributions.sort((a, b) => order(a.by) - order(b.by));
  const body = [make("h2", { text: `Why is this result ${at + 1}?` }), make("p", { class: "meta" }, crumb(result)),
    make("h3", { text: `Fused score ${figure(result.fusion_score, 4)}` }),
    make("div", { class: "stack", "aria-hidden": "true" }, contributions.map((e) => bar(e.by, e.contribution / total))),
    make("table", { class: "shares" }, make("caption", { text: "Contribution of each signal; they add up to the fused score." }),
      make("thead", {}, make("tr", {}, ["signal", "rank", "score", "contribution", ""].map((name, n) =>
        n === 4 ? make("td", {}) : make("th", { scope: "col", text: name })))),
      make("tbody", {}, contributions.map((e) => contribution(e, most))))];
  if (steps.length) {
    body.push(make("h3", { text: "Adjustments" }), make("ul", { class: "list" }, steps.map((e) =>
      make("li", { text: typeof e.bonus === "number" ? `${e.by}: + ${e.bonus.toFixed(4)}` : `${e.by}: × ${e.factor}` }))));
  }
  const paths = result.evidence.flatMap((e) => [].concat(e.path ?? [], e.paths ?? []).map((path) => [e.by, path]));
  if (paths.length) body.push(make("h3", { text: "Link path" }), ...paths.map(track));
  const rest = [`score ${figure(result.score)}, scaled so that the best result has 1`];
  if (typeof result.similarity === "number") rest.push(`cosine similarity ${figure(result.similarity)}`);
  body.push(make("h3", { text: "Final score" }), make("ul", { class: "list" }, rest.map((text) => make("li", { text }))));
  $("detail-body").replaceChildren(...body);
  $("detail").scrollTop = 0;
  if (focus) $("detail").focus({ preventScroll: true });
}

function contribution(e, most) {
  const sum = typeof e.scaled === "number" && typeof e.weight === "number" ? `${figure(e.scaled)} × ${figure(e.weight)} = ` : "";
  const marks = [e.estimated ? "estimated" : "", e.filled ? "filled in" : ""].filter(Boolean).join(", ");
  return make("tr", {},
    make("th", { scope: "row" }, make("span", { class: `vote by-${signalClass(e.by)}`, text: e.by }),
      marks ? make("span", { class: "meta", text: marks }) : null),
    make("td", { class: "figure", text: e.filled ? "–" : `#${e.rank}` }),
    make("td", { class: "figure", text: figure(e.score) }),
    make("td", { class: "figure", text: `${sum}${figure(e.contribution, 4)}` }),
    make("td", { class: "draw" }, bar(e.by, e.contribution / most)));
}

function track([by, path]) {
  const text = Array.isArray(path) ? path.join(" -> ") : String(path);
  const type = text.match(/ \(([^()]*)\)$/)?.[1];
  const stops = text.replace(/ \([^()]*\)$/, "").split(/\s*(?:->|→)\s*/);
  return make("p", { class: "track" }, make("span", { class: `vote by-${signalClass(by)}`, text: by }),
    stops.flatMap((stop, n) => [n ? make("span", { text: "→" }) : null, make("span", { class: "stop", text: stop })]),
    type ? make("span", { class: "badge", text: type }) : null);
}
