// The page on quality: what was measured, and what use has taught.

import { call } from "./api.js";
import { copyable } from "./copy.js";
import { $, bar, make, percent, plural, signalClass } from "./dom.js";
import { age } from "./index.js";

const HEADLINES = [["hit@1", "the right document is first"], ["hit@5", "it is among the first five"], ["mrr@10", "mean of 1 / rank"]];
const COLUMNS = [["hit@1", "first"], ["hit@5", "in five"], ["recall@10", "recall@10"], ["mrr@10", "mrr@10"]];
const OWNER_ONLY = "The report is shown to the owner of the index: on the machine of the server, without a token, and if no document "
  + "is hidden. Queries and figures come from all documents. Run this there, and open report.html:";

export async function showQuality() {
  document.title = "Quality · watersmeet";
  for (const id of ["left", "controls", "open-filters", "open-expert"]) $(id).hidden = true;
  $("ask").addEventListener("submit", (event) => { event.preventDefault(); location.assign(searchAddress($("query").value)); });
  $("quality").hidden = false;
  $("quality-body").setAttribute("aria-busy", "true");
  try {
    const found = await call("/api/quality");
    $("quality-body").replaceChildren(...measured(found), ...taught(found));
  } catch (problem) {
    $("quality-body").replaceChildren(make("p", { class: "note", role: "alert", text: `The quality cannot be read: ${problem.message}` }));
  }
  $("quality-body").removeAttribute("aria-busy");
}

// ---------------------------------------------------------------- what was measured

function measured(found) {
  const report = found.evaluation;
  const head = make("h3", { text: "What was measured" });
  if (!found.shown) return [head, make("p", { text: OWNER_ONLY }), copyable(`${found.commands.evaluate} --report report.html`, "Command")];
  if (!report) {
    return [head, make("p", { text: "Nothing yet. This makes queries from the documents themselves, and measures whether they are found again:" }),
      copyable(found.commands.evaluate, "Command"),
      make("p", { class: "meta", text: "Questions of your own say more: write them down with the documents that answer them, and name the file instead of --from-corpus." })];
  }
  const changed = report.documents !== found.documents
    ? make("p", { class: "note", text: `The index has changed since: ${plural(report.documents, "document")} then, ${found.documents.toLocaleString("en")} now.` }) : "";
  return [head, ...facts(report), changed, tiles(report), ...parts(report),
    report.confidence ? make("p", { class: "meta", text: `${report.confidence}.` }) : "",
    ...(report.warnings ?? []).map((text) => make("p", { class: "note quiet", text })), ...weakest(report.weakest ?? [])];
}

function facts(report) {
  const made = [`Measured ${age(report.made)}`, `${plural(report.queries, "query").replace(/querys$/, "queries")} (${report.dataset})`,
    `recipe ${report.recipe}`, `mode ${report.mode}`, `${report.latency_ms.p50.toFixed(0)} ms a search, 95 % below ${report.latency_ms.p95.toFixed(0)} ms`];
  return [make("p", {}, made.join(", "), "."), copyable(report.command, "Command that measures the same again"),
    report.note ? make("details", {}, make("summary", { text: "What these figures say, and what not" }), make("p", { text: report.note })) : ""];
}

function tiles(report) {
  const [low, high] = report.intervals.fused ?? [];
  const all = HEADLINES.filter(([name]) => name in report.metrics).map(([name, text]) =>
    [name.startsWith("mrr") ? report.metrics[name].toFixed(2) : percent(report.metrics[name]), `${text} (${name})`]);
  if ("ndcg@10" in report.metrics) {
    all.push([report.metrics["ndcg@10"].toFixed(2), `nDCG@10${low === undefined ? "" : `, 95 % interval ${low.toFixed(2)} to ${high.toFixed(2)}`}`]);
  }
  if (report.expected_nothing) {
    all.push([percent(report.expected_nothing.share), `of ${report.expected_nothing.queries} queries without an answer were recognised`]);
  }
  return make("dl", { class: "tiles" }, all.map(([value, text]) => make("div", {}, make("dt", { text }), make("dd", { text: value }))));
}

function parts(report) {
  const signals = [["fused", report.metrics, report.intervals.fused, "other"],
    ...Object.entries(report.signals).map(([name, metrics]) => [name, metrics, report.intervals[name], name])];
  const classes = Object.entries(report.classes).map(([name, metrics]) =>
    [`${name.replace(":", ": ")} (${metrics.queries})`, metrics, report.class_intervals?.[name], "other"]);
  return [figures("By signal", "Each signal alone, and all fused", signals), figures("By class of query", "Classes, with the number of queries", classes)];
}

function figures(title, caption, rows) {
  if (!rows.length) return "";
  return make("section", {}, make("h4", { text: title }), make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": title },
    make("table", { class: "figures" }, make("caption", { text: `${caption}. The bar is nDCG@10, the line its 95 % interval.` }),
      make("thead", {}, make("tr", {}, make("th", { scope: "col", text: "name" }), make("th", { scope: "col", text: "nDCG@10" }),
        make("td", { class: "draw" }), COLUMNS.map(([, text]) => make("th", { scope: "col", class: "figure", text })))),
      make("tbody", {}, rows.map(([name, metrics, interval, by]) => make("tr", {}, make("th", { scope: "row", text: name }),
        make("td", { class: "short" }, number(metrics["ndcg@10"]), interval ? make("span", { class: "meta", text: ` ${number(interval[0])}–${number(interval[1])}` }) : ""),
        make("td", { class: "draw" }, ranged(by, metrics["ndcg@10"], interval)),
        COLUMNS.map(([key]) => make("td", { class: "figure", text: number(metrics[key]) }))))))));
}

const number = (value) => (typeof value === "number" ? value.toFixed(2) : "–");

function ranged(by, value, interval) {
  if (typeof value !== "number") return "";
  const drawn = make("span", { class: "ranged", "aria-hidden": "true" }, bar(by, value));
  if (interval) {
    const line = make("span", { class: "interval" });
    line.style.left = `${interval[0] * 100}%`;
    line.style.width = `${(interval[1] - interval[0]) * 100}%`;
    drawn.append(line);
  }
  return drawn;
}

function weakest(rows) {
  if (!rows.length) return [];
  return [make("h4", { text: "Queries that did worst" }), make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Queries that did worst" },
    make("table", {}, make("caption", { class: "unseen", text: "Queries that did worst" }),
      make("thead", {}, make("tr", {}, ["query", "should find", "rank"].map((text) => make("th", { scope: "col", text })))),
      make("tbody", {}, rows.map((row) => make("tr", {}, make("td", {}, searchLink(row.query)), make("td", { class: "where", text: row.expected || "nothing" }),
        make("td", { class: "short", text: row.rank ? `#${row.rank}` : row.expected ? "not found" : "–" }))))))];
}

const searchAddress = (query) => `/?${new URLSearchParams({ q: query })}`;
const searchLink = (query) => make("a", { href: searchAddress(query), text: query });

// ---------------------------------------------------------------- what use has taught

function taught(found) {
  const given = found.calibration;
  const learnt = Object.entries(given.collections ?? {});
  const counts = [plural(given.judged ?? 0, "judged query").replace(/querys$/, "queries"), plural(given.opened ?? 0, "opened result")];
  const start = [make("h3", { text: "What use has taught" }),
    given.problem ? make("p", { class: "note", text: given.problem }) : "",
    make("p", { text: learnt.length ? `The weights of the signals were adjusted after ${counts.join(" and ")}.`
      : "Nothing yet: the weights are those of the recipe." }),
    make("p", { class: "meta", text: given.learning ? "Opened results teach: [calibration] learn = true. Setting it to false stops this."
      : "Opened results do not teach: [calibration] learn = false. With true in the settings, opening a result counts in its favour." })];
  const distinct = learnt.length === 2 ? learnt.filter(([name]) => name === "*") : learnt;  // of one collection, the same as of all
  const weights = learnt.length ? distinct.map(([name, one]) => weighed(name, one, given.prior ?? {}))
    : [make("p", { text: "Judged queries teach at once:" }), copyable(found.commands.judge, "Command")];
  return [...start, ...weights, ...(learnt.length ? [make("p", { text: "To forget it all, and use the recipe's weights again:" }), copyable(found.commands.reset, "Command")] : []),
    ...encoders(found), ...opened(found)];
}

function weighed(collection, one, prior) {
  const total = (weights) => Object.values(weights).reduce((sum, weight) => sum + weight, 0) || 1;
  const before = total(prior), after = total(one.weights);
  return make("section", {}, make("h4", { text: collection === "*" ? "Whole index" : `Collection ${collection}` }),
    make("p", { class: "meta", text: `Evidence ${String(Math.round(one.evidence * 10) / 10)} (a judged query counts 1, an opened result a half), trusted by ${percent(one.trust)}: `
      + "less if what should be found is seldom near the top." }),
    make("table", { class: "weights" }, make("caption", { class: "unseen", text: "Share of each signal before and after" }),
      make("thead", {}, make("tr", {}, ["signal", "before", "after"].map((text) => make("th", { scope: "col", text })), make("td", { class: "draw" }))),
      make("tbody", {}, Object.keys(one.weights).map((name) => make("tr", {},
        make("th", { scope: "row" }, make("span", { class: `vote by-${signalClass(name)}`, text: name })),
        make("td", { class: "short", text: percent((prior[name] ?? 0) / before) }), make("td", { class: "short", text: percent(one.weights[name] / after) }),
        make("td", { class: "draw" }, make("span", { class: "before", "aria-hidden": "true" }, bar(name, (prior[name] ?? 0) / before)), bar(name, one.weights[name] / after)))))));
}

function encoders(found) {
  if (!found.tuned_encoders.length) return [];
  return [make("p", { text: `Tuned for this index: the encoder of queries of ${found.tuned_encoders.join(" and ")}. To undo it:` }),
    copyable(found.commands.undo_encoder, "Command")];
}

function opened(found) {
  if (!found.opened_results.length) return [];
  return [make("h4", { text: "Opened last" }), make("p", { class: "meta", text: "Stored because of [calibration] keep_opened = true." }),
    make("ul", { class: "list" }, found.opened_results.map((one) => make("li", {}, searchLink(one.query), ` → ${one.document}`)))];
}
