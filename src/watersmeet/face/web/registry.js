// Cards of a registry's servers, tools, agents and skills.

import { $, figure, make, meter, plural } from "./dom.js";
import { confidence, notes } from "./results.js";
import { closeDetail } from "./selection.js";
import { state } from "./state.js";
import { marked } from "./words.js";

const GROUPS = [["servers", "Servers"], ["tools", "Tools"], ["agents", "Agents"], ["skills", "Skills"],
  ["virtual_servers", "Virtual servers"]];

export function showCards(answer) {
  closeDetail(false);
  state.results = [];
  $("results").replaceChildren();
  $("welcome").hidden = true;
  const groups = GROUPS.map(([key, name]) => [name, answer[key] ?? []]).filter(([, list]) => list.length);
  const count = groups.reduce((sum, [, list]) => sum + list.length, 0);
  $("summary").textContent = count ? `${plural(count, "result")}, ${answer.search_mode ?? "hybrid"}${confidence(answer)}` : "Nothing found.";
  notes(answer);
  $("cards").replaceChildren(...groups.flatMap(([name, list]) =>
    [make("h2", { class: "group", text: `${name} (${list.length})` }), ...list.map(card)]));
}

function card(entity) {
  const name = entity.tool_name ?? entity.server_name ?? entity.agent_name ?? entity.skill_name ?? entity.name ?? entity.path;
  const schema = entity.inputSchema ?? entity.input_schema;
  const tools = entity.matching_tools ?? entity.tools ?? [];
  return make("article", { class: "card", tabindex: "-1" },
    make("h3", {}, ...marked(String(name))),
    make("div", { class: "meta" }, make("span", { class: "where", text: entity.server_path ?? entity.path ?? "" }),
      typeof entity.relevance_score === "number"
        ? make("span", {}, meter(entity.relevance_score), ` ${figure(entity.relevance_score)}`) : null,
      (entity.tags ?? []).map((tag) => make("span", { class: "badge", text: `#${tag}` }))),
    entity.description ? make("p", {}, ...marked(String(entity.description))) : null,
    tools.length ? make("details", {}, make("summary", { text: `Matching tools (${tools.length})` }),
      make("ul", { class: "list" }, tools.map((tool) => make("li", {}, make("strong", { text: tool.tool_name ?? tool.name ?? String(tool) }),
        tool.description ? `: ${tool.description}` : "")))) : null,
    schema ? make("details", {}, make("summary", { text: "Parameters" }), parameters(schema)) : null);
}

function parameters(schema) {
  const fields = Object.entries(schema.properties ?? {});
  const raw = make("pre", { tabindex: "0", "aria-label": "Schema", text: JSON.stringify(schema, null, 2) });
  if (!fields.length) return raw;
  const needed = new Set(schema.required ?? []);
  return make("div", {}, make("table", {}, make("caption", { class: "unseen", text: "Parameters" }),
    make("thead", {}, make("tr", {}, ["name", "type", "meaning"].map((text) => make("th", { scope: "col", text })))),
    make("tbody", {}, fields.map(([key, value]) => make("tr", {}, make("th", { scope: "row", text: key + (needed.has(key) ? " *" : "") }),
      make("td", { class: "short", text: [].concat(value?.type ?? "any").join(" or ") }), make("td", { text: value?.description ?? "" }))))),
  make("details", {}, make("summary", { text: "As JSON schema" }), raw));
}
