// Makes elements. Whatever comes from the server becomes text, never markup: nothing in this page parses HTML.

/**
 * An element. `props`: attributes by name; `on*` listeners; `class`; `text`. Children: elements, texts, nothing.
 */
export function h(name, props = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "text") element.textContent = value;
    else if (value === true) element.setAttribute(key, "");
    else element.setAttribute(key, String(value));
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** A table with a caption and headers. `columns`: their headers; `rows`: lists of cells, the first one the row's header. */
export function table(caption, columns, rows, props = {}) {
  const cell = (content, place) =>
    place === 0 ? h("th", { scope: "row" }, content) : h("td", {}, content);
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      props,
      h("caption", { class: "visually-hidden", text: caption }),
      h("thead", {}, h("tr", {}, columns.map((text) => h("th", { scope: "col", text })))),
      h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map(cell)))),
    ),
  );
}

/** Says something to those who hear the page. */
export function announce(text) {
  document.getElementById("announcer").textContent = text;
}

/** `1.5 ms` of microseconds. */
export function duration(microseconds) {
  if (microseconds < 1000) return `${microseconds} µs`;
  if (microseconds < 1e6) return `${(microseconds / 1e3).toFixed(1)} ms`;
  if (microseconds < 6e7) return `${(microseconds / 1e6).toFixed(2)} s`;
  return `${Math.floor(microseconds / 6e7)} min ${Math.round((microseconds % 6e7) / 1e6)} s`;
}

/** `2.1 MiB`. */
export function bytes(number) {
  const units = ["B", "KiB", "MiB", "GiB"];
  let unit = 0;
  while (number >= 1024 && unit < units.length - 1) {
    number /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? number : number.toFixed(1)} ${units[unit]}`;
}

/** How long ago, roughly. */
export function age(time) {
  const seconds = Math.max(0, (Date.now() - Date.parse(time)) / 1000);
  if (!Number.isFinite(seconds)) return "";
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

/** A state with a word, a sign and a colour: none of them alone. */
export function badge(state) {
  const signs = { rendered: "✓", failed: "✕", rendering: "▶", waiting: "…", cancelled: "■", unknown: "?" };
  return h("span", { class: `badge ${state}` }, h("span", { "aria-hidden": "true", text: signs[state] ?? "?" }), ` ${state}`);
}
