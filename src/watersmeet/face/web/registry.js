// Cards of a registry's servers, tools, agents and skills.

import { call } from "./api.js";
import { address, configuration } from "./configuration.js";
import { $, make, meter, percent, place, plural } from "./dom.js";
import { confidence, notes } from "./results.js";
import { countOf, lazily, parameters } from "./schema.js";
import { state } from "./state.js";
import { marked } from "./words.js";

const GROUPS = [["servers", "Servers"], ["tools", "Tools"], ["agents", "Agents"], ["skills", "Skills"],
  ["virtual_servers", "Virtual servers"]];
const RANKED = "Percentages compare with the best result, which has 100 %.";
const BY_WORDS = "By words alone: percentages are shares of a full match in path, name, description, tags and tools.";
const MAX_SHOWN = 12;

export function showCards(answer) {
  state.results = [];
  $("results").replaceChildren();
  $("welcome").hidden = true;
  const groups = [...GROUPS.map(([key, name]) => [name, answer[key] ?? []]), ...declared(answer.custom ?? [])]
    .filter(([, list]) => list.length);
  const count = groups.reduce((sum, [, list]) => sum + list.length, 0);
  const scale = scaleOf(answer);
  const found = plural(count, "result");
  $("summary").textContent = !count ? "Nothing found. Try fewer or other words, or fewer filters."
    : answer.no_good_match ? `Nothing fits this well. The nearest: ${found}` : found + confidence(answer);
  notes(answer);
  $("cards").replaceChildren(count && scale.text ? make("p", { class: "meta scale", text: scale.text }) : "",
    ...groups.flatMap(([name, list]) => [make("h2", { class: "group", text: `${name} (${list.length})` }),
      ...list.map((entity) => card(entity, scale))]));
}

// entities of the types that the settings declare: a group for each type, under its label
function declared(entities) {
  return [...new Set(entities.map((one) => one.entity_type))].map((type) => entities.filter((one) => one.entity_type === type))
    .map((list) => [String(list[0].label || list[0].entity_type), list]);
}

// what scores mean. Those by words are shares of a full match. Others are scaled so that the best has 1, which says
// nothing if nothing fits. A list by tags has no order of fit.
function scaleOf(answer) {
  if (!String(answer.query ?? "").replace(/#[^\s#]+/g, "").trim()) return { shown: false, text: "With these tags, last changed first." };
  if (answer.search_mode === "lexical-only") return { shown: true, text: BY_WORDS };
  if (answer.no_good_match) return { shown: false, text: "Percentages would compare with the nearest, which does not fit: there are none." };
  return { shown: true, text: RANKED };
}

function share(entity, scale) {
  if (!scale.shown || typeof entity.relevance_score !== "number") return null;
  return make("span", { class: "share" }, meter(entity.relevance_score), ` ${percent(entity.relevance_score)}`);
}

const badge = (text, warn = false) => (text ? make("span", { class: warn ? "badge warn" : "badge", text }) : null);

function badges(entity) {
  const tags = entity.tags ?? [];
  return [entity.status && entity.status !== "active" ? badge(entity.status, true) : null,
    entity.is_enabled === false ? badge("disabled", true) : null,
    ...(entity.review ?? []).map((reason) => badge(`to be reviewed: ${reason}`, true)),
    entity.visibility && entity.visibility !== "public" ? badge(entity.visibility) : null,
    typeof entity.version === "string" ? badge(entity.version && `version ${entity.version}`) : null,
    "num_tools" in entity ? badge(entity.num_tools ? plural(entity.num_tools, "tool") : "lists no tools") : null,
    "tool_count" in entity ? badge(entity.tool_count ? plural(entity.tool_count, "tool") : "lists no tools") : null,
    ...tags.slice(0, MAX_SHOWN).map((tag) => badge(`#${tag}`)),
    tags.length > MAX_SHOWN ? badge(`${tags.length - MAX_SHOWN} tags more`) : null];
}

function card(entity, scale) {
  const name = String(entity.tool_name ?? entity.server_name ?? entity.agent_name ?? entity.skill_name ?? entity.name ?? entity.path);
  const path = entity.server_path ?? entity.path ?? "";
  const isServer = !entity.tool_name && "server_name" in entity;
  const [button, panel] = isServer ? configuration(path, name) : [null, null];
  return make("article", { class: "card", tabindex: "-1" },
    make("h3", {}, ...marked(name)),
    make("div", { class: "meta" }, share(entity, scale), make("span", { class: "where", text: path }),
      entity.tool_name ? make("span", { text: `of ${entity.server_name}` }) : null, badges(entity)),
    entity.description ? make("p", { class: "about" }, ...marked(String(entity.description))) : null,
    members("Backends", entity.backend_paths), members("Capabilities", entity.capabilities),
    agentSkills(entity.skills), matchingTools(entity.matching_tools),
    entity.tool_name ? toolSchema(entity.inputSchema) : null,
    entity.tool_name ? null : make("details", {}, make("summary", { text: isServer ? "Details and all tools" : "Details" }),
      lazily(() => details(path))),
    button ? make("div", { class: "row" }, button) : null, panel);
}

function members(title, names) {
  if (!names?.length) return null;
  const more = names.length - MAX_SHOWN;
  return make("p", { class: "meta" }, `${title}: ${names.slice(0, MAX_SHOWN).join(", ")}${more > 0 ? ` and ${more} more` : ""}`);
}

function agentSkills(skills) {
  if (!skills?.length) return null;
  return make("details", {}, make("summary", { text: `Skills (${skills.length})` }), make("ul", { class: "list" },
    skills.map((skill) => make("li", {}, make("strong", { text: skill.name }), skill.description ? `: ${skill.description}` : ""))));
}

function matchingTools(tools) {
  if (!tools?.length) return null;
  return make("details", {}, make("summary", { text: `Matching tools (${tools.length})` }), make("ul", { class: "list" },
    tools.map((tool) => make("li", {}, make("strong", { text: tool.tool_name }), tool.description ? `: ${tool.description}` : ""))));
}

function toolSchema(schema) {
  const count = countOf(schema);
  if (!schema || !Object.keys(schema).length) return make("p", { class: "meta", text: "Its record has no schema." });
  return make("details", {}, make("summary", { text: `Parameters (${count})` }), lazily(() => parameters(schema)));
}

// ---------------------------------------------------------------- the whole record, when it is asked for

function details(path) {
  const shown = make("div", { "aria-busy": "true" }, make("p", { class: "meta", text: "Loading" }));
  call(`/api/entities/${address(path)}`).then((record) => shown.replaceChildren(...facts(record), ...allTools(record.tools ?? [])))
    .catch((problem) => shown.replaceChildren(make("p", { class: "note", text: `The record cannot be read: ${problem.message}` })))
    .finally(() => shown.removeAttribute("aria-busy"));
  return shown;
}

function facts(record) {
  const extra = record.extra ?? {}, metadata = record.metadata ?? {};
  const location = typeof extra.location === "string" ? extra.location : "";
  const rows = [["Kind", record.kind.replaceAll("_", " ")], ["Status", record.enabled ? record.status : `${record.status}, disabled`],
    ["Version", text(extra.version ?? metadata.version)], ["Transport", transports({ ...metadata, ...extra }).join(", ")],
    ["Author", text(extra.author ?? metadata.author)], ["Owner", record.owner], ["Source", location && place(location, location)],
    ["Examples", (record.examples ?? []).slice(0, 3).join("; ")],
    ...Object.entries(metadata).filter(([key, value]) => key && !["version", "author"].includes(key) && text(value)).slice(0, MAX_SHOWN)];
  return [make("dl", { class: "facts" }, rows.filter(([, value]) => value).flatMap(([name, value]) =>
    [make("dt", { text: `${name[0].toUpperCase()}${name.slice(1)}`.replaceAll("_", " ") }), make("dd", {}, value instanceof Node ? value : text(value))]))];
}

function text(value) {
  if (Array.isArray(value)) return value.filter((one) => typeof one !== "object").join(", ").slice(0, 300);
  return ["string", "number", "boolean"].includes(typeof value) ? String(value).slice(0, 300) : "";
}

function transports(values) {
  const list = (value) => (Array.isArray(value) ? value : value ? [value] : []);
  const named = [...list(values.supported_transports), values.transport, values.transport_type, values.remote?.transport_type,
    ...list(values.remotes).map((one) => one?.type ?? one?.transport_type),
    ...list(values.packages).map((one) => one?.transport?.type ?? "stdio"), values.image || typeof values.command === "string" ? "stdio" : ""];
  return [...new Set(named.filter((one) => typeof one === "string" && one))];
}

function allTools(tools) {
  if (!tools.length) return [make("p", { class: "meta", text: "The record lists no tools." })];
  return [make("h4", { text: plural(tools.length, "tool") }), ...tools.slice(0, 200).map((tool) => make("details", { class: "tool" },
    make("summary", {}, make("strong", { text: tool.name }), tool.description ? make("span", { class: "says", text: ` ${tool.description}` }) : null),
    toolSchema(tool.inputSchema))),
  tools.length > 200 ? make("p", { class: "meta", text: `and ${tools.length - 200} more` }) : ""];
}
