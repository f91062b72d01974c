// What is looked at, in order; each check that fails is told, and the others go on.
"use strict";

const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

const { byKeyboard, byMouse, buttons } = require("./controls.js");
const { Ui, browser, show } = require("./page.js");

const WIDTHS = [420, 800, 1200, 1600];
const SCHEMES = ["light", "dark"];
// Two stacks with everything that an answer may have, and a link that says nothing.
const FULL = "v=1&size=64B&every=15min&link=lte-m&device=nrf9160-lte-m&battery=2400mAh@3.6V&tariff=1nce&count=2&security=2030&stacks=coap-con%2Boscore,mqtt-qos1%2Btls1.3";
const REFUSED = "v=0&every=1h";

// What axe-core finds in the page as it is.
async function findings(page, axe) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return violations.flatMap((rule) => rule.nodes.slice(0, 3).map((node) => `${rule.id}: ${rule.help}: ${node.target} ${node.failureSummary ?? ""}`));
}

// What is wider than the screen, outside of what scrolls by itself.
function wide() {
  const edge = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= edge) return [];
  const nodes = [...document.querySelectorAll("body *")].filter((node) => !node.closest(".scroll, svg, .sr"));
  return ["the page is wider than the screen", ...nodes.filter((node) => node.getBoundingClientRect().right > edge).slice(0, 5).map((node) => node.outerHTML.slice(0, 90))];
}

// What moves by itself, or would where something changes.
function moving() {
  const durations = (style) => [style.transitionDuration, style.animationName === "none" ? "0s" : style.animationDuration].join().split(/, ?/);
  const nodes = [...document.querySelectorAll("*")].filter((node) => durations(getComputedStyle(node)).some((time) => parseFloat(time) > 0));
  const smooth = [...document.querySelectorAll("*")].filter((node) => getComputedStyle(node).scrollBehavior === "smooth");
  return [...nodes, ...smooth].slice(0, 5).map((node) => node.outerHTML.slice(0, 90));
}

// Unfolds the account of the first row, and everything that is folded.
async function unfold(page) {
  await page.click('.ranking [data-row="1"]');
  await page.waitForSelector("#account:not([hidden])");
  await page.evaluate(() => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
}

// Without this, a page that axe-core does not see would pass.
async function notices({ page, ui, axe, told }) {
  await show(page, ui, FULL);
  await page.evaluate(() => {
    document.getElementById("title").style.color = "#ccc";
    document.querySelector("#controls label").removeAttribute("for");
    document.getElementById("asked").style.width = "3000px";
  });
  const found = [...(await findings(page, axe)), ...(await page.evaluate(wide))].join();
  told("faults are noticed", ["color-contrast", "label", "wider than the screen"].filter((word) => !found.includes(word)).map((word) => `no ${word}`));
}

async function looks({ page, ui, axe, told }) {
  await page.emulateMediaFeatures([{ name: "prefers-reduced-motion", value: "reduce" }]);
  await show(page, ui, FULL, 1200, "light");
  await unfold(page);
  told("reduced motion", await page.evaluate(moving));
  for (const scheme of SCHEMES) {
    for (const width of WIDTHS) {
      await show(page, ui, FULL, width, scheme);
      await unfold(page);
      const found = [...(await findings(page, axe)), ...(await page.evaluate(wide))];
      await show(page, ui, REFUSED, width, scheme);
      found.push(...(await findings(page, axe)), ...(await page.evaluate(wide)));
      told(`${width} px, ${scheme}`, found);
    }
  }
}

// The pictures of the documentation.
async function pictures({ page, ui, screenshots, wirecost, told }) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "ui-browser-"));
  const words = "choose -q --size 64B --every 15min --link lte-m --device nrf9160-lte-m --battery 2400mAh@3.6V --tariff 1nce --out run";
  execFileSync(wirecost, words.split(" "), { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  const choice = `file://${path.join(folder, "run/choice.html")}`;
  for (const scheme of SCHEMES) {
    for (const [width, height] of [[420, 1100], [1200, 900]]) {
      const file = (name) => path.join(screenshots, `${name}-${width}-${scheme}.webp`);
      await show(page, ui, "", width, scheme, height);
      if (width < 900) await page.evaluate(() => { document.getElementById("question").open = false; });
      await page.screenshot({ path: file("ui"), type: "webp", quality: 80 });
      await page.goto(choice);
      const current = await page.evaluateHandle(() => [...document.querySelectorAll("figure")].find((figure) => /Current of a reading/.test(figure.textContent)));
      await current.asElement().screenshot({ path: file("current"), type: "webp", quality: 80 });
    }
  }
  fs.rmSync(folder, { recursive: true });
  told("pictures", []);
}

// Runs all checks, and returns how many have failed.
async function checks({ axe, puppeteer, wirecost, screenshots }) {
  const ui = await Ui.start(wirecost);
  const chromium = await browser(puppeteer);
  let failures = 0;
  const told = (name, found) => {
    failures += found.length > 0;
    console.log(`${found.length === 0 ? "ok" : "FAILED"}  ${name}`);
    found.forEach((line) => console.log(`    ${line}`));
  };
  try {
    const page = await chromium.newPage();
    const logged = [];
    page.on("pageerror", (error) => logged.push(String(error)));
    // The browser logs the status of each refusal itself.
    page.on("console", (line) => line.text().includes("400 (Bad Request)") || logged.push(line.text()));
    const all = { page, ui, axe, told, wirecost, screenshots };
    if (screenshots) await pictures(all);
    else for (const check of [notices, looks, byMouse, byKeyboard, buttons]) await check(all);
    told("console", logged);
  } finally {
    await chromium.close();
    ui.stop();
  }
  return failures;
}

module.exports = { checks };
