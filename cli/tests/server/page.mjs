// Looks at the page as people do: with eyes, with a keyboard, with a screen reader's rules.
// node page.mjs URL BROWSER MODULES

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [url, browserPath, modules] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const API = `${url}/apis/porch.kpt.dev/v1alpha1/namespaces/team-a`;
const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
const context = await browser.newContext({ colorScheme: "light" });
context.setDefaultTimeout(60000);
const page = await context.newPage();

const complaints = [];
const elsewhere = [];
const failed = [];
page.on("console", (message) => {
  if (/Content Security Policy/i.test(message.text())) complaints.push(message.text());
});
page.on("pageerror", (error) => complaints.push(String(error)));
page.on("dialog", (dialog) => complaints.push(`a dialog: ${dialog.message()}`));
page.on("requestfailed", (request) => failed.push(`${request.url()}: ${request.failure()?.errorText}`));
page.on("request", (request) => {
  if (!request.url().startsWith(url)) elsewhere.push(request.url());
});

async function accessible(what) {
  const found = await page.evaluate(`${axe}; axe.run(document, { resultTypes: ["violations"] })`);
  const words = found.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => n.html).join(" ")}`);
  assert.deepEqual(words, [], `${what}: ${words.join("\n")}`);
}

const focused = () => page.evaluate(() => document.activeElement.textContent.trim() || document.activeElement.id);

async function step(name, run) {
  await run();
  console.log(`ok: ${name}`);
}

try {
  await page.goto(`${url}/ui/`);

  await step("the list shows what there is", async () => {
    await page.getByRole("row", { name: /web\.v1/ }).getByText("rendered").waitFor();
    await page.getByRole("row", { name: /hostile\.v1/ }).getByText("failed").waitFor();
    assert.equal(await page.locator("#connection").textContent(), "live");
    await accessible("the list");
  });

  await step("what is hostile is text", async () => {
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.locator("img[src=x]").count(), 0);
  });

  await step("a new revision comes by itself, and what becomes of it", async () => {
    const row = page.getByRole("row", { name: /later\.v1/ });
    assert.equal(await row.count(), 0);
    const body = JSON.stringify({
      apiVersion: "porch.kpt.dev/v1alpha1",
      kind: "PackageRevision",
      metadata: { name: "later.v1", namespace: "team-a" },
      spec: { packageName: "later", repository: "default", workspaceName: "later", lifecycle: "Draft" },
    });
    const made = await fetch(`${API}/packagerevisions`, { method: "POST", body, headers: { "content-type": "application/json" } });
    assert.equal(made.status, 201, await made.text());
    await row.getByText("rendered").waitFor();
    await fetch(`${API}/packagerevisions/later.v1`, { method: "DELETE" });
    await row.waitFor({ state: "detached" });
  });

  await step("a filter leaves what matches", async () => {
    await page.getByLabel("State").selectOption("failed");
    await page.getByRole("row", { name: /web\.v1/ }).waitFor({ state: "detached" });
    await page.getByLabel("State").selectOption("");
    await page.getByLabel("Name", { exact: true }).fill("hostile");
    await page.getByRole("row", { name: /web\.v1/ }).waitFor({ state: "detached" });
    await page.getByLabel("Name", { exact: true }).fill("");
    await page.getByRole("row", { name: /web\.v1/ }).waitFor();
  });

  await step("everything can be reached with the keyboard", async () => {
    await page.reload();
    await page.getByRole("row", { name: /web\.v1/ }).waitFor();
    await page.keyboard.press("Tab");
    assert.equal(await focused(), "Skip to content");
    assert.ok(await page.locator("a.skip").evaluate((link) => link.getBoundingClientRect().top >= 0), "it can be seen");
    const stops = [];
    for (let n = 0; n < 20 && stops.at(-1) !== "web.v1"; n += 1) {
      await page.keyboard.press("Tab");
      stops.push(await focused());
    }
    for (const stop of ["Revisions", "Queue", "Access", "filter", "namespace", "Show namespace", "web.v1"]) {
      assert.ok(stops.includes(stop), `${stop} is not among ${stops}`);
    }
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "web.v1" }).waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.id), "main", "the new page has the focus");
    assert.equal(await page.title(), "web.v1 · Portico");
  });

  await step("a render's page shows its steps, what they changed, and its log", async () => {
    const line = page.getByRole("table", { name: "Time line of the steps" });
    await line.getByRole("link", { name: /set-labels/ }).waitFor();
    const width = await line.locator(".fill.time").first().evaluate((bar) => bar.getBoundingClientRect().width);
    assert.ok(width > 0, "the bar of its time can be seen");
    await line.getByRole("link", { name: /set-labels/ }).press("Enter");
    const details = page.locator("details.step").first();
    assert.ok(await details.evaluate((element) => element.open), "the link opens the step");
    await details.getByText("changed: v1/Service/web in svc.yaml").waitFor();
    assert.ok((await details.locator(".diff .added").allTextContents()).includes("+    app: web\n"));
    await page.locator("details.logs > summary").click();
    await page.locator("details.logs pre").getByText(/succeeded after/).waitFor();
    await accessible("a render's page");
  });

  await step("a render that goes on is followed", async () => {
    const resources = await (await fetch(`${API}/packagerevisionresources/web.v1`)).json();
    const version = page.getByText("Content version").locator("xpath=following-sibling::dd");
    const before = await version.textContent();
    resources.spec.resources["more.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: more\n";
    const body = JSON.stringify(resources);
    const put = await fetch(`${API}/packagerevisionresources/web.v1`, { method: "PUT", body, headers: { "content-type": "application/json" } });
    assert.equal(put.status, 200, await put.text());
    await page.waitForFunction((before) => [...document.querySelectorAll("dt")].some((dt) => dt.textContent === "Content version" && dt.nextSibling.textContent !== before), before);
    await page.locator("details.step").first().getByText("changed: v1/ConfigMap/more in more.yaml").waitFor({ state: "attached" });
    await page.locator(".state").getByText("rendered").waitFor();
  });

  await step("the page of a render that failed says why, as text", async () => {
    await page.goto(`${url}/ui/#/render/team-a/hostile.v1`);
    await page.locator("[role=alert]").getByText(/<script>window\.hacked=1<\/script>/).first().waitFor();
    // At once, in the page: between finding a step and opening it, it may have been drawn anew.
    await page.waitForFunction(() => {
      const found = document.querySelector("details.step");
      if (found) found.open = true;
      return [...document.querySelectorAll("details.step[open] h3")].some((title) => title.textContent === "Standard error");
    });
    await page.getByRole("heading", { name: "Standard error" }).waitFor();
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.locator("img[src=x]").count(), 0);
    await accessible("a failed render's page");
  });

  await step("the queue is shown", async () => {
    await page.getByRole("link", { name: "Queue" }).click();
    await page.getByText("Nothing waits and nothing runs.").waitFor();
    await accessible("the queue");
  });

  await step("it is dark where people want it dark", async () => {
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const light = await ground();
    await page.emulateMedia({ colorScheme: "dark" });
    assert.notEqual(await ground(), light);
    for (const [hash, there] of [["#/", "web.v1"], ["#/render/team-a/web.v1", "Time line"], ["#/render/team-a/hostile.v1", "hacked"], ["#/queue", "Nothing waits"]]) {
      await page.goto(`${url}/ui/${hash}`);
      await page.getByText(there).first().waitFor({ state: "attached" });
      await accessible(`${hash} in the dark`);
    }
    await page.emulateMedia({ colorScheme: "light" });
  });

  await step("a token is asked for where one is needed, and sent", async () => {
    const seen = [];
    await page.route("**/apis/**", (route) => {
      const token = route.request().headers().authorization;
      seen.push(token);
      if (token === "Bearer good") return route.continue();
      return route.fulfill({ status: 401, contentType: "application/json", body: '{"message":"Unauthorized"}' });
    });
    await page.goto(`${url}/ui/#/`);
    await page.reload();
    await page.locator("#connection").getByText("needs a token").waitFor();
    await page.getByLabel("Bearer token").fill("good");
    await page.getByLabel("Bearer token").press("Enter");
    await page.getByRole("row", { name: /web\.v1/ }).waitFor();
    assert.ok(seen.includes(undefined) && seen.includes("Bearer good"), String(seen));
    assert.equal(await page.evaluate(() => localStorage.length + document.cookie.length), 0, "it is kept in the tab alone");
  });

  assert.deepEqual(elsewhere, [], "nothing is asked for elsewhere");
  assert.deepEqual(complaints, []);
} catch (error) {
  console.log(`the page says:\n${await page.locator("body").innerText().catch(String)}`);
  console.log(`complaints: ${complaints.join("\n")}\nfailed requests: ${failed.join("\n")}`);
  throw error;
} finally {
  if (process.env.PORTICO_SCREENSHOTS) {
    await page.unroute("**/apis/**");
    for (const scheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme: scheme });
      for (const [name, hash] of [["list", "#/"], ["render", "#/render/team-a/web.v1"], ["failed", "#/render/team-a/hostile.v1"], ["queue", "#/queue"]]) {
        await page.goto(`${url}/ui/${hash}`);
        await page.waitForTimeout(1000);
        await page.screenshot({ path: `${process.env.PORTICO_SCREENSHOTS}/${name}-${scheme}.png`, fullPage: true });
      }
    }
  }
  await browser.close();
}
