// What waits and what runs, tenant by tenant.

import { pause, queue } from "./api.js";
import { duration, h, table } from "./dom.js";

export async function show(main, _, signal, connection) {
  const numbers = h("dl", { class: "numbers" });
  const tenants = h("section", { "aria-label": "Tenants" });
  const renders = h("section", { "aria-label": "Renders that run" });
  main.replaceChildren(h("h1", { text: "Queue" }), numbers, h("h2", { text: "Renders that run" }), renders, h("h2", { text: "Tenants" }), tenants);
  let last = "";
  while (!signal.aborted) {
    try {
      const now = await queue(signal);
      connection("live");
      const text = JSON.stringify(now);
      if (text !== last) {
        last = text;
        draw(now);
      }
    } catch (error) {
      if (signal.aborted) return;
      connection(error);
    }
    await pause(1000, signal);
  }

  function draw(now) {
    const oldest = now.oldestMilliseconds === undefined ? "nothing waits" : duration(now.oldestMilliseconds * 1000);
    const pairs = [
      ["Rendering", now.running],
      ["Ready", now.ready],
      ["Waiting for time", now.delayed],
      ["At their quota", now.atQuota],
      ["Waiting for memory", now.waitingForMemory],
      ["Oldest", oldest],
    ];
    numbers.replaceChildren(...pairs.map(([name, value]) => h("div", {}, h("dt", { text: name }), h("dd", { text: value }))));
    const running = now.renders.map((render) => [
      h("a", { href: `#/render/${encodeURIComponent(render.namespace)}/${encodeURIComponent(render.name)}`, text: render.name }),
      render.namespace,
      duration(render.elapsedMicroseconds),
      render.function ?? "",
    ]);
    // Whoever stands on a link stays there.
    const at = renders.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    renders.replaceChildren(
      running.length ? table("Renders that run", ["Revision", "Namespace", "For", "Function"], running) : h("p", { text: "None." }),
    );
    if (at) [...renders.querySelectorAll("a")].find((link) => link.getAttribute("href") === at)?.focus();
    const rows = now.tenants.map((tenant) => [tenant.namespace, tenant.repository, tenant.waiting, tenant.running].map(String));
    const note = now.partial ? "These are the oldest; there are more than are counted here." : "";
    tenants.replaceChildren(
      rows.length ? table("Tenants", ["Namespace", "Repository", "Waiting", "Rendering"], rows) : h("p", { text: "Nothing waits and nothing runs." }),
      h("p", { text: note }),
    );
  }
}
