// The index: sources, coverage and calibration.

import { $, bar, make, percent, place, plural, signalClass } from "./dom.js";
import { knowKinds } from "./facets.js";
import { REGISTRY, state } from "./state.js";

export function showIndex(status) {
  const facts = [plural(status.documents, "document"), plural(status.chunks, "chunk"), `${(status.size_bytes / 1e6).toFixed(1)} MB`];
  const rows = Object.entries(status.signals ?? {}).map(([name, signal]) => make("tr", {},
    make("th", { scope: "row" }, make("span", { class: `vote by-${signalClass(name)}`, text: name })),
    make("td", { text: signal.model }),
    make("td", { class: "figure", text: percent(signal.coverage) + (signal.seconds_left > 0 ? `, ${Math.ceil(signal.seconds_left / 60)} min left` : "") }),
    make("td", { class: "draw" }, bar(name, signal.coverage))));
  $("index-body").replaceChildren(
    make("p", { text: facts.join(", ") }),
    make("p", { class: "where", text: status.index ?? "" }),
    status.indexing ? make("p", { text: `Being indexed: ${status.indexing.done} of ${status.indexing.files ?? "?"} files.` }) : "",
    ...sources(status.sources ?? []),
    make("h3", { text: "Coverage" }),
    make("table", {}, make("caption", { class: "unseen", text: "Share of the index that each signal covers" }), make("tbody", {}, rows)),
    ["waiting", "embedding"].includes(status.background?.state) ? make("p", { text: "Missing vectors are made in the background, while there are no requests." }) : "",
    make("h3", { text: "Kinds" }),
    make("p", { text: Object.entries(status.kinds ?? {}).map(([kind, count]) => `${kind} ${count}`).join(", ") || "none" }),
    make("h3", { text: "Calibration" }), calibration(status.calibration));
}

function sources(given) {
  if (!given.length) return [];
  const rows = given.map((one) => make("tr", {}, make("th", { scope: "row" }, place(one.root, one.root)),
    make("td", { class: "short", text: one.kind }), make("td", { class: "figure", text: plural(one.documents, "document") }),
    make("td", { text: `read ${age(one.synced)}${one.overdue ? ", overdue" : ""}${one.problem ? `; problem: ${one.problem}` : ""}` })));
  return [make("h3", { text: "Sources" }),
    make("table", {}, make("caption", { class: "unseen", text: "Folders and addresses that the index covers" }), make("tbody", {}, rows))];
}

export function age(moment) {
  if (!moment) return "never as a whole";
  const minutes = (Date.now() - Date.parse(moment)) / 60000;
  for (const [size, unit] of [[1440, "day"], [60, "hour"], [1, "minute"]]) {
    if (minutes >= size) return `${plural(Math.floor(minutes / size), unit)} ago`;
  }
  return "just now";
}

function calibration(given) {
  if (!given) return make("p", { text: "none; the recipe's weights are used" });
  if (typeof given !== "object") return make("p", { text: String(given) });
  return make("table", {}, make("caption", { class: "unseen", text: "Calibration" }), make("tbody", {},
    Object.entries(given).map(([key, value]) => make("tr", {}, make("th", { scope: "row", text: key.replaceAll("_", " ") }),
      make("td", { text: asText(value) })))));
}

function asText(value) {
  if (typeof value === "number") return String(Math.round(value * 1e4) / 1e4);
  if (value && typeof value === "object") return Object.entries(value).map(([key, part]) => `${key} ${asText(part)}`).join(", ");
  return String(value);
}

export function showStatus(status) {
  state.status = status;
  const kinds = Object.entries(status.kinds ?? {});
  knowKinds(status.kinds ?? {});
  $("scope").hidden = !kinds.some(([kind]) => REGISTRY.includes(kind));
  $("welcome").replaceChildren(
    make("h2", { text: `${plural(status.documents, "document")}, ${plural(status.chunks, "passage")}` }),
    make("p", { text: "Ask in your own words, or paste an error code, a flag or a function's name. Several kinds of search are "
      + "combined; every result shows how it got its rank." }),
    make("p", { class: "keys-only" }, make("kbd", { text: "/" }), " to search, ", make("kbd", { text: "↓" }), " to the results, ",
      make("kbd", { text: "Enter" }), " to open, ", make("kbd", { text: "e" }), " to explain, ", make("kbd", { text: "?" }), " for help."));
}
