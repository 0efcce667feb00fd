// The parameters of a tool as a table. Schemas are foreign: depth, rows and texts are limited, and a reference that
// leads back to itself ends there.

import { copyable } from "./copy.js";
import { make, plural } from "./dom.js";

const MAX_DEPTH = 6;
const MAX_ROWS = 200;
const MAX_VALUES = 12;
const MAX_PARTS = 8;
const MAX_TEXT = 80;
const MAX_MEANING = 2000;
const MAX_JSON = 100000;

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const listed = (value) => (Array.isArray(value) ? value : []);
const cut = (text, most = MAX_TEXT) => (text.length > most ? `${text.slice(0, most)} …` : text);

export function parameters(schema) {
  const top = place(schema, schema, []);
  const fields = isObject(schema) ? fieldsOf(top) : [];
  const rows = { left: MAX_ROWS };
  return make("div", { class: "schema" },
    fields.length ? table(fields, "Parameters", 0, rows) : make("p", { class: "meta", text: "It takes no parameters that its schema names." }),
    make("details", {}, make("summary", { text: "JSON schema" }), lazily(() => copyable(asJson(schema), "JSON schema"))));
}

export function countOf(schema) { return isObject(schema) ? fieldsOf(place(schema, schema, [])).length : 0; }

// content that is made when its fold is opened
export function lazily(content) {
  const inside = make("div");
  queueMicrotask(() => {
    const fold = inside.closest("details");
    const fill = () => { if (fold.open && !inside.hasChildNodes()) inside.append(content()); };
    fold?.addEventListener("toggle", fill);
  });
  return inside;
}

function asJson(schema) {
  try { return cut(JSON.stringify(schema, null, 2), MAX_JSON); } catch { return "too deep to show"; }
}

// ---------------------------------------------------------------- a place in a schema: what is there, and how one got there

function place(node, root, trail) {
  let here = node;
  const seen = [...trail];
  for (let hops = 0; isObject(here) && typeof here.$ref === "string"; hops++) {
    const name = cut(here.$ref.split("/").at(-1));
    if (seen.includes(here.$ref) || hops > MAX_PARTS) return { node: {}, root, seen, name, loops: true };
    seen.push(here.$ref);
    const found = pointed(root, here.$ref);
    if (found === undefined) return { node: { description: here.description }, root, seen, name, lost: true };
    here = isObject(found) && typeof here.description === "string" ? { ...found, description: here.description } : found;
  }
  return { node: here, root, seen };
}

function pointed(root, reference) {
  if (reference !== "#" && !reference.startsWith("#/")) return undefined;
  let here = root;
  for (const part of reference.split("/").slice(1)) {
    const key = decoded(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, key)) return undefined;
    here = here[key];
  }
  return here;
}

function decoded(part) { try { return decodeURIComponent(part); } catch { return part; } }

const inside = (at, node) => place(node, at.root, at.seen);

// the fields of an object, with those of the schemas that all hold for it
function fieldsOf(at, depth = 0) {
  if (!isObject(at.node)) return [];
  const needed = new Set(listed(at.node.required));
  const own = isObject(at.node.properties) ? Object.entries(at.node.properties) : [];
  const found = own.map(([name, node]) => ({ name, needed: needed.has(name), at: inside(at, node) }));
  const parts = depth < MAX_PARTS ? listed(at.node.allOf).slice(0, MAX_PARTS) : [];
  return [...found, ...parts.flatMap((part) => fieldsOf(inside(at, part), depth + 1))];
}

// the schemas of which one holds; without the one for null, which only makes a value optional
function variants(at) {
  if (!isObject(at.node)) return [];
  const given = [...listed(at.node.anyOf), ...listed(at.node.oneOf)].slice(0, MAX_PARTS).map((node) => inside(at, node));
  return given.filter((one) => !(isObject(one.node) && one.node.type === "null"));
}

function children(at) {
  const { node } = at;
  if (!isObject(node)) return [];
  const choices = variants(at);
  const found = [["Fields", at]];
  if (node.items) found.push(["Fields of each item", inside(at, Array.isArray(node.items) ? node.items[0] : node.items)]);
  if (isObject(node.additionalProperties)) found.push(["Fields of each value", inside(at, node.additionalProperties)]);
  const own = found.map(([title, one]) => [title, fieldsOf(one)]).filter(([, fields]) => fields.length);
  return [...own, ...choices.flatMap((one, n) => children(one).map(([title, fields]) =>
    [choices.length > 1 ? `${title}, variant ${n + 1}` : title, fields]))].slice(0, MAX_PARTS);
}

// ---------------------------------------------------------------- in words

function typeOf(at, depth = 0) {
  const { node } = at;
  if (at.loops) return `${at.name}, as above`;
  if (at.lost) return at.name;
  if (depth > 4) return "…";
  if (node === true || !isObject(node)) return "any";
  const choices = [...listed(node.anyOf), ...listed(node.oneOf)].slice(0, MAX_PARTS);
  const types = typeof node.type === "string" ? [node.type] : listed(node.type).filter((one) => typeof one === "string");
  if (choices.length && !types.length) return unique(choices.map((one) => typeOf(inside(at, one), depth + 1)));
  if (!types.length && isObject(node.properties)) types.push("object");
  if (!types.length && listed(node.allOf).length) return unique(node.allOf.slice(0, MAX_PARTS).map((one) => typeOf(inside(at, one), depth + 1)), " and ");
  if (!types.length && "const" in node) types.push(kindOf(node.const));
  if (!types.length && listed(node.enum).length) types.push(...node.enum.slice(0, MAX_VALUES).map(kindOf));
  return unique(types.map((type) => oneType(type, at, depth))) || "any";
}

const kindOf = (value) => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);
const unique = (texts, between = " or ") => [...new Set(texts)].slice(0, MAX_PARTS).join(between);

function oneType(type, at, depth) {
  const { node } = at;
  if (type === "array") {
    const items = Array.isArray(node.items) ? node.items[0] : node.items ?? listed(node.prefixItems)[0];
    return items ? `list of ${typeOf(inside(at, items), depth + 1)}` : "list";
  }
  if (type === "object" && isObject(node.additionalProperties) && !isObject(node.properties)) {
    return `map of ${typeOf(inside(at, node.additionalProperties), depth + 1)}`;
  }
  return type === "string" && typeof node.format === "string" ? `string (${cut(node.format)})` : cut(type);
}

function shown(value) { try { return cut(JSON.stringify(value) ?? ""); } catch { return "…"; } }

function range(low, high, unit = "") {
  const number = (value) => typeof value === "number";
  const behind = unit ? ` ${unit}` : "";
  if (number(low) && number(high)) return low === high ? `${low}${behind}` : `${low} to ${high}${behind}`;
  if (number(low)) return `at least ${low}${behind}`;
  return number(high) ? `at most ${high}${behind}` : "";
}

function limits(node) {
  if (!isObject(node)) return [];
  const values = "const" in node ? [node.const] : listed(node.enum);
  const more = values.length - MAX_VALUES;
  return [
    values.length ? `one of ${values.slice(0, MAX_VALUES).map(shown).join(", ")}${more > 0 ? ` and ${more} more` : ""}` : "",
    "default" in node ? `default ${shown(node.default)}` : "",
    range(node.minimum, node.maximum),
    typeof node.exclusiveMinimum === "number" ? `above ${node.exclusiveMinimum}` : "",
    typeof node.exclusiveMaximum === "number" ? `below ${node.exclusiveMaximum}` : "",
    typeof node.multipleOf === "number" ? `a multiple of ${node.multipleOf}` : "",
    range(node.minLength, node.maxLength, "characters"),
    range(node.minItems, node.maxItems, "items"),
    node.uniqueItems === true ? "no item twice" : "",
    typeof node.pattern === "string" ? `like ${cut(node.pattern)}` : "",
    node.deprecated === true ? "deprecated" : "",
  ].filter(Boolean);
}

// what is said of the value itself, and of the one variant or the items that it stands for
function meaning(at) {
  const choices = variants(at);
  const about = [at, ...(choices.length === 1 ? choices : [])];
  const items = isObject(at.node) && isObject(at.node.items) ? inside(at, at.node.items) : null;
  const text = about.map((one) => (isObject(one.node) ? one.node.description : "")).find((one) => typeof one === "string" && one) ?? "";
  const all = about.flatMap((one) => limits(one.node));
  if (items) all.push(...limits(items.node).map((one) => `each ${one}`));
  return [text ? make("span", { class: "says", text: cut(text, MAX_MEANING) }) : null,
    all.length ? make("span", { class: "limits", text: [...new Set(all)].join("; ") }) : null];
}

// ---------------------------------------------------------------- the table

function table(fields, caption, depth, rows) {
  const body = make("tbody");
  for (const [number, field] of fields.entries()) {
    if (rows.left <= 0) {
      body.append(make("tr", {}, make("td", { colspan: "4", text: `… and ${fields.length - number} more, in the JSON schema` })));
      break;
    }
    rows.left -= 1;
    body.append(make("tr", {}, make("th", { scope: "row", text: cut(field.name) }), make("td", { class: "type", text: typeOf(field.at) }),
      make("td", { class: field.needed ? "needed" : "optional" }, field.needed ? "required" : "optional"),
      make("td", { class: "meaning" }, meaning(field.at))), ...nested(field, depth, rows));
  }
  return make("table", { class: "parameters" }, make("caption", { class: "unseen", text: caption }),
    make("thead", {}, make("tr", {}, ["name", "type", "required", "meaning"].map((text) => make("th", { scope: "col", text })))), body);
}

function nested(field, depth, rows) {
  return children(field.at).map(([title, fields]) => {
    const deeper = depth + 1 < MAX_DEPTH && rows.left > 0;
    const name = `${title} of ${cut(field.name)}`.replace(" of each item of ", " of each item in ").replace(" of each value of ", " of each value in ");
    const inner = deeper
      ? make("details", { open: depth === 0 && fields.length <= 8 }, make("summary", { text: `${name} (${fields.length})` }), table(fields, name, depth + 1, rows))
      : make("span", { class: "meta", text: `${plural(fields.length, "field")} more, in the JSON schema` });
    return make("tr", { class: "nested" }, make("td", { colspan: "4" }, inner));
  });
}
