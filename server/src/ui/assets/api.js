// Speaks the Kubernetes API: lists, watches, logs. The token stands in the tab's session storage and nowhere else.

const GROUP = "/apis/porch.kpt.dev/v1alpha1";
const TOKEN = "portico-token";

export function token() {
  return sessionStorage.getItem(TOKEN) ?? "";
}

export function setToken(text) {
  if (text) sessionStorage.setItem(TOKEN, text);
  else sessionStorage.removeItem(TOKEN);
}

/** A failure of the server, with its words. */
export class Failure extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function ask(path, signal, accept = "application/json") {
  const headers = { Accept: accept };
  if (token()) headers.Authorization = `Bearer ${token()}`;
  const response = await fetch(path, { headers, signal, cache: "no-store" });
  if (response.ok) return response;
  let message = (await response.text()).slice(0, 2000);
  try {
    message = JSON.parse(message).message ?? message;
  } catch {
    // It is plain text.
  }
  throw new Failure(response.status, message || response.statusText);
}

export async function json(path, signal) {
  return (await ask(path, signal)).json();
}

/** The lines of an answer, as they come. */
async function* lines(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const parts = (rest + value).split("\n");
      rest = parts.pop();
      yield* parts;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
  if (rest) yield rest;
}

function revisions(namespace, name, query) {
  if (name) query.fieldSelector = `metadata.name=${name}`;
  const within = namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${GROUP}${within}/packagerevisions?${new URLSearchParams(query)}`;
}

/**
 * Lists the revisions of a namespace (or of all), or the one of a name, and keeps the list up to date. `told` gets a map from uid to revision
 * whenever it has changed, `state` gets `live` or why it is not. Goes on until the signal says stop.
 */
export async function follow(namespace, name, signal, told, state) {
  let wait = 500;
  while (!signal.aborted) {
    try {
      const found = new Map();
      let more = "";
      let version;
      do {
        const query = more ? { limit: 500, continue: more } : { limit: 500 };
        const page = await json(revisions(namespace, name, query), signal);
        for (const item of page.items) found.set(item.metadata.uid, item);
        more = page.metadata.continue ?? "";
        version = page.metadata.resourceVersion;
      } while (more);
      told(found);
      state("live");
      for (;;) {
        const query = { watch: 1, resourceVersion: version, allowWatchBookmarks: true };
        const began = Date.now();
        for await (const line of lines(await ask(revisions(namespace, name, query), signal))) {
          const { type, object } = JSON.parse(line);
          if (type === "ERROR") throw new Failure(object.code, object.message);
          version = object.metadata.resourceVersion;
          if (type === "BOOKMARK") continue;
          if (type === "DELETED") found.delete(object.metadata.uid);
          else found.set(object.metadata.uid, object);
          told(found);
          wait = 500;
        }
        // Watches end now and then; one that ends at once is a fault.
        if (Date.now() - began < 1000) throw new Failure(0, "the watch ended at once");
      }
    } catch (error) {
      if (signal.aborted) return;
      // Too old a version: listed again at once.
      if (error.status === 410) continue;
      state(error);
      await pause(wait, signal);
      wait = Math.min(wait * 2, 30000);
    }
  }
}

export function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function one(namespace, name) {
  return `${GROUP}/namespaces/${encodeURIComponent(namespace)}/packagerevisions/${encodeURIComponent(name)}`;
}

export function revision(namespace, name, signal) {
  return json(one(namespace, name), signal);
}

/** What a render did and does, event by event; ends when there is nothing to render any more. */
export async function* followLog(namespace, name, signal) {
  const response = await ask(`${one(namespace, name)}/log?follow=true&format=json`, signal);
  for await (const line of lines(response)) yield JSON.parse(line);
}

/** The log as text. */
export async function logText(namespace, name, signal) {
  return (await ask(`${one(namespace, name)}/log`, signal, "text/plain, application/json")).text();
}

export function queue(signal) {
  return json("api/queue", signal);
}

/** How a revision's render stands, in one word. */
export function stateOf(revision) {
  const conditions = revision.status?.conditions ?? [];
  const of = (type) => conditions.find((condition) => condition.type === type);
  const finished = of("RenderFinished");
  const rendered = of("Rendered");
  if (finished?.status === "False") return finished.reason === "Rendering" ? "rendering" : "waiting";
  if (rendered?.status === "True") return "rendered";
  if (rendered?.reason === "Cancelled") return "cancelled";
  return rendered?.status === "False" ? "failed" : "unknown";
}
