// Requests to the server, with the token if there is one.

import { $ } from "./dom.js";

export async function call(path, body, signal) {
  const headers = { Accept: "application/json" };
  const token = sessionStorage.getItem("token");
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal });
  const data = await answer.json().catch(() => ({}));
  if (!answer.ok) {
    const message = String(data.detail ?? `the server answered with status ${answer.status}`);
    if (answer.status === 401) askForToken(token ? message : "");
    throw new Error([message, data.hint].filter(Boolean).join(". "));
  }
  return data;
}

function askForToken(reason) {
  $("access-reason").textContent = reason && `The token was refused: ${reason}`;
  $("access-reason").hidden = !reason;
  if (!$("access").open) $("access").showModal();
}

export async function events(path, body, signal, each) {
  const headers = { Accept: "text/event-stream", "Content-Type": "application/json" };
  const token = sessionStorage.getItem("token");
  if (token) headers.Authorization = `Bearer ${token}`;
  const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  if (!answer.ok) {
    const data = await answer.json().catch(() => ({}));
    if (answer.status === 401) askForToken(token ? String(data.detail) : "");
    throw new Error([data.detail ?? `the server answered with status ${answer.status}`, data.hint].filter(Boolean).join(". "));
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const whole = (rest + part.value).split("\n\n");
    rest = whole.pop();
    for (const event of whole) {
      const name = event.match(/^event: (.*)$/m)?.[1];
      const data = event.match(/^data: (.*)$/m)?.[1];
      if (name && data) each(name, JSON.parse(data));
    }
  }
}
