// One revision's render: its steps on a time line, what they reported and changed, its log.

import { Failure, follow, followLog, logText, pause, stateOf } from "./api.js";
import { announce, badge, bytes, duration, h, table } from "./dom.js";

const WORDS = {
  Running: "rendering",
  Succeeded: "rendered",
  Failed: "failed",
  Invalid: "failed",
  Stopped: "cancelled",
  Broken: "failed",
};

export function show(main, { namespace, name }, signal, connection) {
  const state = h("p", { class: "state" });
  const facts = h("dl", { class: "numbers" });
  const message = h("div", { role: "alert" });
  const steps = h("section", { "aria-labelledby": "steps-title" });
  const results = h("section", { "aria-labelledby": "results-title" });
  const log = h("pre", { class: "log", tabindex: "0", role: "region", "aria-label": "Log" });
  const logs = h("details", { class: "logs" }, h("summary", { text: "Log" }), log);
  const opened = new Set();
  main.replaceChildren(
    h("nav", { "aria-label": "Breadcrumb" }, h("a", { href: "#/", text: "Revisions" }), ` / ${namespace} / `, h("span", { "aria-current": "page", text: name })),
    h("h1", { text: name }),
    state,
    message,
    facts,
    steps,
    results,
    logs,
  );

  let record;
  let revision;
  let words = "";

  const draw = () => {
    const now = revision ? stateOf(revision) : record ? WORDS[record.outcome] : "unknown";
    const text = `${now} ${revision?.spec?.lifecycle ?? ""}`;
    if (text !== words) {
      words = text;
      state.replaceChildren(badge(now), h("span", { text: ` ${revision?.spec?.lifecycle ?? ""}` }));
      announce(`${name}: ${now}`);
    }
    const condition = revision?.status?.conditions?.find((condition) => condition.type === "RenderFinished" && condition.status === "False");
    const why = record?.outcome === "Running" ? "" : record?.message || "";
    const shown = condition?.message || why;
    if (message.textContent !== shown) message.replaceChildren(shown ? h("pre", { class: "message", text: shown }) : "");
    if (!record) {
      steps.replaceChildren(h("h2", { id: "steps-title", text: "Steps" }), h("p", { text: "No render has begun yet." }));
      return;
    }
    const pairs = [
      ["Render", record.render || "none"],
      ["Content version", record.contentVersion],
      ["Began", record.startTime],
      ["Took", record.outcome === "Running" ? "still running" : duration(record.elapsedMicroseconds)],
      ["Fuel", record.fuel.toLocaleString("en")],
      ["Peak memory", bytes(record.peakMemoryBytes)],
    ];
    // What is open stays open; events that tell of it may come too late for that.
    steps.querySelectorAll("details.step").forEach((step, place) => (step.open ? opened.add(place) : opened.delete(place)));
    facts.replaceChildren(...pairs.map(([key, value]) => h("div", {}, h("dt", { text: key }), h("dd", { text: value }))));
    steps.replaceChildren(
      h("h2", { id: "steps-title", text: "Steps" }),
      timeline(record),
      ...record.warnings.map((warning) => h("p", { class: "warning" }, h("strong", { text: "Warning: " }), warning.message)),
      ...record.steps.map((step, place) => details(step, place, opened)),
      record.stepsLeftOut ? h("p", { text: `${record.stepsLeftOut} more steps are left out.` }) : "",
    );
    results.replaceChildren(h("h2", { id: "results-title", text: "Results" }), findings(record));
  };

  let due = false;
  const soon = () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      if (!signal.aborted) draw();
    });
  };

  const showLog = async () => {
    if (!logs.open) return;
    try {
      log.textContent = await logText(namespace, name, signal);
    } catch (error) {
      if (!signal.aborted) log.textContent = error.message;
    }
  };
  logs.addEventListener("toggle", showLog);

  // The revision tells when there is a new render to follow.
  let wake = () => {};
  follow(namespace, name, signal, (found) => {
    const [mine] = found.values();
    const unfinished = mine && ["waiting", "rendering"].includes(stateOf(mine));
    const was = revision?.metadata.resourceVersion;
    revision = mine;
    if (!mine) announce(`${name} is not there`);
    if (mine && was !== mine.metadata.resourceVersion && (unfinished || !record)) wake();
    soon();
  }, connection);

  (async () => {
    while (!signal.aborted) {
      const woken = new Promise((resolve) => {
        wake = resolve;
        signal.addEventListener("abort", resolve);
      });
      let again = woken;
      try {
        for await (const event of followLog(namespace, name, signal)) {
          record = take(record, event);
          soon();
        }
      } catch (error) {
        if (signal.aborted) return;
        // Before the first render there is no log, and the revision tells when there is.
        if (!(error instanceof Failure && error.status === 404)) {
          connection(error);
          again = Promise.race([woken, pause(2000, signal)]);
        }
      }
      await showLog();
      await again;
    }
  })();
  draw();
}

/** A record with one event more. */
function take(record, event) {
  switch (event.type) {
    case "Began":
      return { warnings: [], ...event.record, steps: [] };
    case "StepBegan":
    case "StepEnded":
      record.steps[event.index] = event.step;
      return record;
    case "Warned":
      if (event.warning) record.warnings.push(event.warning);
      return record;
    case "Ended":
      return { ...record, ...event.record, steps: record.steps, warnings: record.warnings };
    default:
      return record;
  }
}

const label = (step) => step.name || step.image.split("/").pop() || step.exec;

function timeline(record) {
  const ran = record.steps.filter((step) => step.startMicroseconds !== undefined);
  const end = (step) => step.startMicroseconds + step.elapsedMicroseconds;
  const whole = Math.max(1, record.elapsedMicroseconds, ...ran.map(end));
  const most = (field) => Math.max(1, ...record.steps.map((step) => step[field]));
  const [fuel, memory] = [most("fuel"), most("peakMemoryBytes")];
  const bar = (kind, from, share, words) => {
    const fill = h("span", { class: `fill ${kind}` });
    // Through the object model, which the page's policy allows, as it holds no text.
    fill.style.left = `${100 * from}%`;
    fill.style.width = `max(2px, ${100 * share}%)`;
    return h("div", { class: "measure" }, h("span", { class: "bar", "aria-hidden": "true" }, fill), h("span", { text: words }));
  };
  const rows = record.steps.map((step, place) => {
    const began = step.startMicroseconds !== undefined;
    return [
      h("a", { href: `#step-${place}`, onclick: (event) => {
        event.preventDefault();
        const target = document.getElementById(`step-${place}`);
        target.open = true;
        target.querySelector("summary").focus();
        target.scrollIntoView({ block: "nearest" });
      }, text: label(step) }),
      step.packageName || ".",
      step.state,
      began ? bar("time", step.startMicroseconds / whole, step.elapsedMicroseconds / whole, step.state === "Running" ? "…" : duration(step.elapsedMicroseconds)) : "",
      step.fuel ? bar("fuel", 0, step.fuel / fuel, step.fuel.toLocaleString("en")) : "",
      step.peakMemoryBytes ? bar("memory", 0, step.peakMemoryBytes / memory, bytes(step.peakMemoryBytes)) : "",
    ];
  });
  if (!rows.length) return h("p", { text: record.outcome === "Running" ? "No step has begun yet." : "It has no steps." });
  return table("Time line of the steps", ["Function", "Package", "State", "Time", "Fuel", "Memory"], rows, { class: "timeline" });
}

function details(step, place, opened) {
  const changes = step.changes?.resources ?? [];
  const parts = [];
  if (step.error) parts.push(h("pre", { class: "message", text: step.error }));
  if (step.condition) parts.push(h("p", {}, "Skipped, because this condition is false: ", h("code", { text: step.condition })));
  for (const change of changes) {
    const moved = change.oldPath ? `, was in ${change.oldPath}` : "";
    parts.push(h("h3", { text: `${change.change}: ${change.resource}${change.path ? ` in ${change.path}` : ""}${moved}` }));
    if (change.diff) parts.push(difference(change.diff));
  }
  if (step.changes?.leftOut) parts.push(h("p", { text: `${step.changes.leftOut} more changed resources are left out.` }));
  if (step.changes && !changes.length) parts.push(h("p", { text: "It changed nothing." }));
  if (step.stderr) parts.push(h("h3", { text: "Standard error" }), h("pre", { class: "log", text: step.stderr }));
  if (!parts.length) parts.push(h("p", { text: "There is nothing more to tell." }));
  const summary = `${step.number}. ${label(step)}, ${step.state.toLowerCase()}` + (changes.length ? `, ${changes.length + (step.changes.leftOut ?? 0)} changed` : "");
  return h("details", { id: `step-${place}`, class: "step", open: opened.has(place) }, h("summary", { text: summary }), h("p", {}, h("code", { text: step.image || step.exec }), ` (${step.kind})`), ...parts);
}

/** A unified diff, its lines marked by their sign and by colour. */
function difference(text) {
  const kinds = { "+": "added", "-": "removed", "@": "place" };
  const lines = text.replace(/\n$/, "").split("\n").map((line) => h("span", { class: `line ${kinds[line[0]] ?? ""}`, text: `${line}\n` }));
  return h("pre", { class: "diff" }, lines);
}

/** All results, file by file. */
function findings(record) {
  const rows = record.steps.flatMap((step) =>
    (step.results ?? []).map((result) => {
      const of = result.resourceRef;
      const resource = of ? [of.apiVersion, of.kind, of.namespace, of.name].filter(Boolean).join("/") : "";
      return [result.file?.path ?? "(no file)", result.severity ?? "info", result.message, resource, result.field?.path ?? "", label(step)];
    }),
  );
  if (!rows.length) return h("p", { text: "No function reported anything." });
  rows.sort((a, b) => a[0].localeCompare(b[0]));
  return table("Results by file", ["File", "Severity", "Message", "Resource", "Field", "Function"], rows);
}
