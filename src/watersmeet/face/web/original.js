// The original of a document: a web page at the passage, a PDF at its page, or another file.

import { make, note } from "./dom.js";

const SHOWN = ["application/pdf", "text/plain"];

export function originalLink(found, isButton = false) {
  const look = isButton ? "plain original" : "original";
  if (found.address) {
    return isButton ? make("a", { class: look, href: found.address, target: "_blank", rel: "noopener noreferrer", text: "Web page",
      title: "Open the web page at this place" }) : null;
  }
  const isPdf = found.file === "application/pdf";
  if (!found.file || (!isPdf && !isButton)) return null;
  const address = `/file/${found.document.split("/").map(encodeURIComponent).join("/")}`;
  const page = isPdf && found.page ? `#page=${found.page}` : "";
  return make("a", { class: look, href: address + page, target: "_blank", rel: "noopener noreferrer",
    text: isPdf ? `PDF${found.page ? `, page ${found.page}` : ""}` : "File", title: `Open the ${isPdf ? "PDF" : "file"} itself`,
    on: { click: (event) => { event.stopPropagation(); if (sessionStorage.getItem("token")) { event.preventDefault(); fetchFile(address, page); } } } });
}

// a link cannot carry the token, so the file is fetched with it and shown from memory
async function fetchFile(address, page) {
  const answer = await fetch(address, { headers: { Authorization: `Bearer ${sessionStorage.getItem("token")}` } });
  if (!answer.ok) return note(`The file cannot be opened: ${(await answer.json().catch(() => ({}))).detail ?? answer.status}`);
  const content = await answer.blob();
  const shown = URL.createObjectURL(content);
  const link = make("a", { href: shown + page, target: "_blank", rel: "noopener" });
  if (!SHOWN.includes(content.type.split(";")[0])) link.setAttribute("download", decodeURIComponent(address.split("/").at(-1)));
  link.click();
  setTimeout(() => URL.revokeObjectURL(shown), 60000);
}
