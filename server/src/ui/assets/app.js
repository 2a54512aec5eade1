// Which page is shown: the part of the address behind `#` says it.

import { Failure, setToken, token } from "./api.js";
import { announce } from "./dom.js";
import * as list from "./list.js";
import * as queue from "./queue.js";
import * as render from "./render.js";

const main = document.getElementById("main");
const connection = document.getElementById("connection");
const access = document.getElementById("access");
const field = document.getElementById("token");

/** The page of an address. */
function route() {
  const [path, query] = location.hash.replace(/^#/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decoded);
  if (parts[0] === "render" && parts.length === 3) return { page: render, on: "list", title: parts[2], namespace: parts[1], name: parts[2] };
  if (parts[0] === "queue") return { page: queue, on: "queue", title: "Queue" };
  return { page: list, on: "list", title: "Revisions", namespace: new URLSearchParams(query).get("namespace") ?? "" };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function connected(state) {
  if (state === "live") {
    connection.textContent = "live";
    connection.className = "live";
    return;
  }
  connection.className = "away";
  if (state instanceof Failure && state.status === 401) {
    connection.textContent = "needs a token";
    access.open = true;
  } else if (state instanceof Failure && state.status === 403) {
    connection.textContent = `not allowed: ${state.message}`;
  } else {
    connection.textContent = `not connected: ${state.message}`;
  }
}

let stop = new AbortController();

function show(first) {
  // Links within the page, such as that to its content.
  if (location.hash && !location.hash.startsWith("#/")) return;
  stop.abort();
  stop = new AbortController();
  const to = route();
  document.title = `${to.title} · Portico`;
  for (const link of document.querySelectorAll("nav a[data-page]")) {
    if (link.dataset.page === to.on) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  connection.textContent = "connecting";
  connection.className = "";
  to.page.show(main, to, stop.signal, connected);
  if (!first) {
    main.focus();
    announce(to.title);
  }
}

document.querySelector("a.skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
document.getElementById("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  setToken(field.value.trim());
  access.open = false;
  show(false);
});
field.value = token();
addEventListener("hashchange", () => show(false));
show(true);
