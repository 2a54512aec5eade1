// The revisions, live.

import { follow, stateOf } from "./api.js";
import { age, announce, badge, h } from "./dom.js";

/** Rows at once; the rest is found by filtering. */
const ROWS = 500;

const STATES = ["rendering", "waiting", "failed", "cancelled", "rendered"];

export function show(main, { namespace }, signal, connection) {
  let all = [];
  let filter = "";
  let only = "";
  const within = h("input", { id: "namespace", value: namespace, placeholder: "all", spellcheck: "false", autocomplete: "off" });
  const text = h("input", { id: "filter", type: "search", spellcheck: "false", autocomplete: "off" });
  const state = h("select", { id: "state" }, h("option", { value: "", text: "any" }), STATES.map((text) => h("option", { value: text, text })));
  const count = h("p", { class: "count", id: "count" });
  const body = h("tbody");
  const rows = new Map();
  main.replaceChildren(
    h("h1", { text: "Revisions" }),
    h(
      "form",
      { class: "filters", role: "search", "aria-label": "Filter", onsubmit: (event) => {
        event.preventDefault();
        location.hash = within.value ? `#/?namespace=${encodeURIComponent(within.value)}` : "#/";
      } },
      h("p", {}, h("label", { for: "filter", text: "Name" }), text),
      h("p", {}, h("label", { for: "state", text: "State" }), state),
      h("p", {}, h("label", { for: "namespace", text: "Namespace" }), within),
      h("button", { type: "submit", text: "Show namespace" }),
    ),
    count,
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Package revisions" },
      h(
        "table",
        { "aria-describedby": "count" },
        h("caption", { class: "visually-hidden", text: "Package revisions" }),
        h("thead", {}, h("tr", {}, ["Revision", "Namespace", "Render", "Lifecycle", "Repository", "Package", "Age"].map((text) => h("th", { scope: "col", text })))),
        body,
      ),
    ),
  );

  const cells = (item) => {
    const { metadata, spec } = item;
    const target = `#/render/${encodeURIComponent(metadata.namespace)}/${encodeURIComponent(metadata.name)}`;
    return [
      h("th", { scope: "row" }, h("a", { href: target, text: metadata.name })),
      h("td", { text: metadata.namespace }),
      h("td", {}, badge(stateOf(item))),
      h("td", { text: spec?.lifecycle ?? "" }),
      h("td", { text: spec?.repository ?? "" }),
      h("td", { text: spec?.packageName ?? "" }),
      h("td", {}, h("time", { datetime: metadata.creationTimestamp, title: metadata.creationTimestamp, text: age(metadata.creationTimestamp) })),
    ];
  };

  // Rows stay where they are and as they are unless something changed: so does whoever stands in one.
  const draw = () => {
    const wanted = all.filter((item) => {
      const { name, namespace } = item.metadata;
      return `${namespace}/${name} ${item.spec?.packageName ?? ""}`.toLowerCase().includes(filter) && (!only || stateOf(item) === only);
    });
    const shown = wanted.slice(0, ROWS);
    const keep = new Set(shown.map((item) => item.metadata.uid));
    for (const [uid, row] of rows) {
      if (!keep.has(uid)) {
        row.element.remove();
        rows.delete(uid);
      }
    }
    let before = body.firstElementChild;
    for (const item of shown) {
      const { uid, resourceVersion } = item.metadata;
      let row = rows.get(uid);
      if (!row) {
        row = { element: h("tr"), version: "" };
        rows.set(uid, row);
      }
      if (row.version !== resourceVersion) {
        const focused = row.element.contains(document.activeElement);
        row.element.replaceChildren(...cells(item));
        row.version = resourceVersion;
        if (focused) row.element.querySelector("a").focus();
      }
      if (row.element === before) before = before.nextElementSibling;
      else body.insertBefore(row.element, before);
    }
    const busy = all.filter((item) => ["rendering", "waiting"].includes(stateOf(item))).length;
    const hidden = wanted.length - shown.length;
    const words = `${wanted.length} of ${all.length} revisions, ${busy} waiting or rendering` + (hidden > 0 ? `; ${hidden} more are not shown, filter to find them` : "");
    if (count.textContent !== words) count.textContent = words;
  };

  // A burst of changes is drawn once.
  let due = false;
  const soon = () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      if (!signal.aborted) draw();
    });
  };

  text.addEventListener("input", () => {
    filter = text.value.trim().toLowerCase();
    draw();
    announce(count.textContent);
  });
  state.addEventListener("change", () => {
    only = state.value;
    draw();
    announce(count.textContent);
  });

  const order = (a, b) => a.metadata.namespace.localeCompare(b.metadata.namespace) || a.metadata.name.localeCompare(b.metadata.name);
  follow(namespace, "", signal, (found) => {
    all = [...found.values()].sort(order);
    soon();
  }, connection);
}
