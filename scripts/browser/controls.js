// Each control by the mouse alone and by the keyboard alone: the page must show the answer of the state that this makes.
"use strict";

const { show, settled, shows } = require("./page.js");

// The state before each change: what other controls need is there.
const BASE = {
  every: "1h", link: "lte-m", device: "nrf9160-lte-m", battery: "2400mAh@3.6V", tariff: "1nce", count: "1", stacks: "coap-con+oscore,mqtt-qos1",
};
// What is typed into each field. A control that is not here and takes text is told.
const TYPED = {
  stacks: "udp", size: "100B", readings: "2,4", every: "2h", "keep-alive": "5min", start: "cold",
  "link-rate": "50kbit", rtt: "100ms", loss: "1%", "loss-burst": "3", queue: "64packets", "delay-variation": "5ms", reorder: "1%", duplicate: "1%",
  corrupt: "1%", mtu: "1280B", "nat-timeout": "udp=60s,tcp=20min", up: "delay=20ms", down: "loss=1%",
  chain: "aws", within: "10s", "device-class": "1", "battery-years": "1", "monthly-bytes": "5MB",
  psm: "active=8s,tau=24h", attach: "every=30d,search=1min", edrx: "81.92s", inactivity: "5s", "tx-power": "10dBm", coverage: "1", group: "p256", "server-group": "p256", cdrx: "long=320ms", dtim: "3",
  battery: "8500mAh@3.6V", chemistry: "li-ion", "self-discharge": "2%", devices: "1000", count: "2", seed: "7",
};

const query = (state) => ["v=1", ...Object.entries(state).filter(([, value]) => value !== "").map(([key, value]) => `${key}=${encodeURIComponent(value)}`)].join("&");

// The control that has the focus, or is given: its key, kind and value, as the page has them.
function described(node) {
  const about = node.closest(".control")?.querySelector("small")?.id ?? "";
  const key = about.replace(/^h-/, "");
  const boxes = [...(node.closest("fieldset:has(> label.check)")?.querySelectorAll("input[type=checkbox]") ?? [])];
  const list = boxes.filter((box) => box.checked).map((box) => box.value).join(",");
  const field = node.type === "range" ? node.closest(".control").querySelector("input[type=text]") : node;
  const value = boxes.length > 0 ? list : node.type === "checkbox" ? (node.checked ? "true" : "") : (field.value ?? "").trim();
  return { key, kind: node.localName === "select" ? "select" : node.type ?? node.localName, value };
}

// The state with another value; a value that is the default is none.
function changed(controls, key, value) {
  const control = controls.find((one) => one.key === key);
  return query({ ...BASE, [key]: value === control.default ? "" : value });
}

// What a change has led to: it must be one, and the page must show its answer.
async function outcome({ page, ui, controls }, before, after) {
  if (before.value === after.value) return [`${before.key} (${before.kind}) stays ${JSON.stringify(before.value)}`];
  return shows(page, ui, changed(controls, after.key, after.value));
}

const readOf = (node) => node.evaluate(described);

async function typed(page, key) {
  if (!TYPED[key]) throw new Error(`scripts/browser/controls.js has no text for ${key}`);
  await page.keyboard.type(TYPED[key]);
}

// ---- the mouse

// Operates a control with the mouse. Text is typed once the mouse has marked what was there. The list that a select opens belongs to the
// browser, out of reach of its protocol: that it opens is seen, and what a click in it does is done by the protocol.
async function clicked(page, node, { key, kind, value }) {
  await node.scrollIntoView();
  if (kind === "text") {
    await node.click({ count: 3 });
    return typed(page, key);
  }
  if (kind === "range") return dragged(page, node);
  await node.click();
  if (kind !== "select") return undefined;
  if (!(await node.evaluate((list) => list.matches(":open")))) throw new Error(`${key}: a click does not open its list`);
  await page.keyboard.press("Escape");
  const others = await node.evaluate((list) => [...list.options].map((option) => option.value));
  return node.select(others.find((other) => other !== value && other !== ""));
}

// Drags a slider from where it is to the other end of its second half.
async function dragged(page, node) {
  const { x, y, width, height } = await node.boundingBox();
  const place = await node.evaluate((slider) => slider.value / slider.max);
  const from = x + 8 + place * (width - 16);
  await page.mouse.move(from, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + width * (place > 0.5 ? 0.3 : 0.8), y + height / 2, { steps: 8 });
  await page.mouse.up();
}

async function byMouse(all) {
  const { page, ui, told } = all;
  const { controls } = await ui.json("api/controls");
  await show(page, ui, query(BASE));
  const count = await page.evaluate(() => document.querySelectorAll("#controls input, #controls select").length);
  const found = [];
  for (let place = 0; place < count; place += 1) {
    await show(page, ui, query(BASE));
    const node = (await page.$$("#controls input, #controls select"))[place];
    await unfolded(node);
    const before = await readOf(node);
    await clicked(page, node, before);
    found.push(...(await outcome({ ...all, controls }, before, await readOf(node))));
  }
  told(`${count} parts of ${controls.length} controls by mouse`, found);
}

// Clicks what a control is folded behind.
async function unfolded(node) {
  const summary = await node.evaluateHandle((input) => input.closest("details:not([open])")?.querySelector("summary"));
  await summary.asElement()?.click();
}

// ---- the keyboard

// The keys that change a control, and those that change it back.
const KEYS = { checkbox: ["Space", "Space"], range: ["ArrowRight", "ArrowLeft"], select: ["ArrowDown", "ArrowUp"] };

async function markAll(page) {
  await page.keyboard.down("Control");
  await page.keyboard.press("a");
  await page.keyboard.up("Control");
}

async function pressed(all, before) {
  const { page } = all;
  const focused = () => page.evaluateHandle(() => document.activeElement);
  const text = async (value) => {
    await markAll(page);
    if (value) await page.keyboard.type(value);
    else await page.keyboard.press("Delete");
  };
  const [there, back] = KEYS[before.kind] ?? [];
  if (there) await page.keyboard.press(there);
  else await typedOver(page, before.key, text);
  let after = await readOf(await focused());
  // A slider or list that was at its end.
  const isAtEnd = there && after.value === before.value;
  if (isAtEnd) {
    await page.keyboard.press(back);
    after = await readOf(await focused());
  }
  const found = await outcome(all, before, after);
  if (!there) await text(before.value);
  else await page.keyboard.press(isAtEnd ? there : back);
  return found;
}

async function typedOver(page, key, text) {
  if (!TYPED[key]) throw new Error(`scripts/browser/controls.js has no text for ${key}`);
  await text(TYPED[key]);
}

// Walks through the form with the tabulator, opens what is folded, and changes each control and back.
async function byKeyboard(all) {
  const { page, ui, told } = all;
  const { controls } = await ui.json("api/controls");
  await show(page, ui, query(BASE));
  const found = [];
  const seen = new Set();
  for (let steps = 0; steps < 400; steps += 1) {
    await page.keyboard.press("Tab");
    const node = await page.evaluateHandle(() => document.activeElement);
    const isIn = await node.evaluate((active) => active.closest("#question") !== null);
    if (!isIn && seen.size > 0) break;
    if (!isIn) continue;
    const before = await readOf(node);
    if (before.kind === "summary") {
      if (await node.evaluate((summary) => summary.parentNode.id !== "question")) await page.keyboard.press("Enter");
      continue;
    }
    if (!(await node.evaluate((active) => active.matches(":focus-visible")))) found.push(`${before.key}: its focus is not visible`);
    seen.add(before.key);
    found.push(...(await pressed({ ...all, controls }, before)));
  }
  found.push(...controls.filter(({ key }) => !seen.has(key)).map(({ key }) => `${key} is not reached`));
  told(`${seen.size} of ${controls.length} controls by keyboard`, found);
}

// ---- what is beside the controls

// The account of a row, its end, the files and the texts to copy: once with the mouse and once with the keyboard.
async function buttons({ page, ui, told }) {
  for (const hand of ["mouse", "keyboard"]) {
    await show(page, ui, query(BASE));
    const press = async (selector) => {
      if (hand === "mouse") return page.click(selector);
      await page.focus(selector);
      return page.keyboard.press("Enter");
    };
    const found = [];
    const expect = async (what, script) => {
      try { await page.waitForFunction(script, { timeout: 20_000 }); } catch { found.push(what); }
    };
    await press('.ranking [data-row="1"]');
    await expect("the account of a row has the focus", 'document.activeElement.id === "account-title"');
    await press("#account-close");
    await expect("the account is closed, and its button has the focus", 'document.getElementById("account").hidden && document.activeElement.dataset.row === "1"');
    await press("#answer details > summary");
    await expect("rows of other starts unfold", 'document.querySelector("#answer details").open');
    await press("#make-files");
    await expect("there are files", 'document.querySelectorAll("#files a[download]").length >= 4');
    await press('[data-copy="command"]');
    await expect("the command is copied or marked", '/^Cop/.test(document.querySelector("[data-copy=command]").textContent) && document.querySelector("[data-copy=command]").textContent !== "Copy the command"');
    await settled(page);
    told(`buttons by ${hand}`, found);
  }
}

module.exports = { byKeyboard, byMouse, buttons };
