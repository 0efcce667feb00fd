// Copying to the clipboard, said aloud. Where a browser does not allow it, the text is selected instead.

import { make } from "./dom.js";

const SHOWN_MS = 2500;
const said = make("p", { class: "unseen", role: "status" });
document.body.append(said);

export function announce(text) {
  said.replaceChildren();
  setTimeout(() => said.replaceChildren(make("span", { text })), 50);
}

// copies the text that `node` shows; whether it was possible
export async function copy(text, node) {
  try {
    await navigator.clipboard.writeText(text);
    announce("Copied");
    return true;
  } catch {
    getSelection().selectAllChildren(node);
    announce("The browser does not allow copying here. The text is selected: copy it with Ctrl+C or Cmd+C.");
    return false;
  }
}

export function copyButton(text, node, label = "Copy") {
  const button = make("button", { class: "plain copy", type: "button", text: label });
  button.addEventListener("click", async () => {
    button.replaceChildren(await copy(text(), node) ? "Copied" : "Selected");
    setTimeout(() => button.replaceChildren(label), SHOWN_MS);
  });
  return button;
}

// a text to copy, such as a command or JSON
export function copyable(text, label) {
  const shown = make("pre", { tabindex: "0", role: "region", "aria-label": label, text });
  return make("div", { class: "copyable" }, shown, copyButton(() => text, shown));
}
