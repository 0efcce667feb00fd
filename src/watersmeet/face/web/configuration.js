// How to connect to a server: the JSON for the settings of an MCP client, as the server made it.

import { call } from "./api.js";
import { copy, copyButton } from "./copy.js";
import { make } from "./dom.js";

export const address = (path) => String(path).replace(/^[/]+/, "").split("/").map(encodeURIComponent).join("/");

// a button, and the panel that it fills
export function configuration(path, name) {
  const panel = make("div", { class: "configuration", role: "region", "aria-label": `MCP configuration of ${name}`, hidden: true });
  const button = make("button", { class: "plain copy", type: "button", text: "Copy MCP configuration", "aria-expanded": "false" });
  let shown = null;
  button.addEventListener("click", async () => {
    button.setAttribute("aria-expanded", "true");
    panel.hidden = false;
    try {
      shown ??= draw(panel, await call(`/api/servers/${address(path)}/configuration`));
      if (shown) await copy(shown.text(), shown.node);
    } catch (problem) {
      panel.replaceChildren(make("p", { class: "note", role: "alert", text: `There is no configuration: ${problem.message}` }));
    }
  });
  return [button, panel];
}

function draw(panel, answer) {
  const notes = answer.notes.map((text) => make("p", { class: "note", role: "status", text: `${text[0].toUpperCase()}${text.slice(1)}.` }));
  if (!answer.ways.length) {
    panel.replaceChildren(...notes);
    return null;
  }
  let way = answer.ways[0];
  const text = () => JSON.stringify(way.configuration, null, 2);
  const node = make("pre", { tabindex: "0", role: "region", "aria-label": "MCP configuration as JSON" });
  const fill = make("div");
  const show = () => {
    node.replaceChildren(make("code", { text: text() }));
    fill.replaceChildren(...toFill(way.to_fill));
  };
  const choose = make("select", { "aria-label": "Way to connect", on: { change: () => { way = answer.ways[choose.selectedIndex]; show(); } } },
    answer.ways.map((one) => make("option", { text: titleOf(one) })));
  show();
  panel.replaceChildren(make("div", { class: "row" }, answer.ways.length > 1 ? choose : make("span", { class: "meta", text: titleOf(way) }),
    copyButton(text, node)), node, fill, ...notes,
  make("p", { class: "meta", text: "Paste it into the settings of your MCP client. It connects to, or runs, what the record names: check that you trust it." }));
  return { text, node };
}

const titleOf = (way) => `${way.transport}: ${way.title}`;

function toFill(given) {
  if (!given.length) return [];
  return [make("ul", { class: "list" }, given.map((one) => make("li", {}, make("code", { text: one.required ? `<${one.name}>` : one.name }),
    ` ${one.where}${one.required ? ", to fill in" : ", optional and left out"}${one.meaning ? `: ${one.meaning}` : ""}`)))];
}
