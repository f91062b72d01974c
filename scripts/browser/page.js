// The server of the page, the browser, and what the page shows.
"use strict";

const { spawn } = require("node:child_process");
const readline = require("node:readline");

const CHROMIUM = "/usr/bin/chromium";
// How long anything may take, in ms: the machine may be busy.
const PATIENCE = 240_000;

class Ui {
  constructor(child, url) {
    this.child = child;
    this.url = url;
  }

  // A page on a free port.
  static async start(wirecost) {
    const child = spawn(wirecost, ["ui", "--listen", "127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"] });
    const [line] = await new Promise((resolve, reject) => {
      readline.createInterface({ input: child.stderr }).once("line", (text) => resolve([text]));
      child.once("error", reject);
      child.once("exit", (code) => reject(new Error(`wirecost ui ended with ${code}`)));
    });
    return new Ui(child, line.replace("the page is at ", "").trim());
  }

  stop() {
    this.child.kill("SIGINT");
  }

  async json(target) {
    return (await fetch(this.url + target)).json();
  }

  // The whole answer to a state, or its refusal.
  async answer(state, more = "") {
    for (let done = 0; ;) {
      const answer = await this.json(`api/choose?client=check&done=${done}&${more}${state}`);
      if (answer.error || answer.done === answer.of) return answer;
      done = answer.done;
    }
  }
}

function browser(puppeteer) {
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"];
  return puppeteer.launch({ executablePath: CHROMIUM, pipe: true, args, protocolTimeout: PATIENCE });
}

// Opens a state in a window of this size, and waits for its answer or refusal.
async function show(page, ui, state, width = 1200, scheme = "light", height = 900) {
  await page.setViewport({ width, height, isMobile: width < 600, hasTouch: width < 600 });
  const features = [{ name: "prefers-color-scheme", value: scheme }, { name: "prefers-reduced-motion", value: "reduce" }];
  await page.emulateMediaFeatures(features);
  await page.goto(`${ui.url}?${state}`);
  await settled(page);
}

async function settled(page) {
  const isSettled = () => document.getElementById("state").textContent.endsWith("ways simulated.") || !document.getElementById("error").hidden;
  await page.waitForFunction(isSettled, { timeout: PATIENCE });
}

// Waits until the page shows what the server answers to a state; what it shows instead, if it does not.
async function shows(page, ui, state) {
  const answer = await ui.answer(state);
  const expected = { error: answer.error ?? "", command: answer.command ?? "", title: answer.known?.title ?? "", done: answer.done };
  const isShown = ({ error, command, title, done }) => {
    const text = (id) => document.getElementById(id).textContent;
    if (error) return text("error") === error;
    return text("command") === command && text("title") === title && text("state").startsWith(`${done} stacks and ways simulated`);
  };
  try {
    await page.waitForFunction(isShown, { timeout: 20_000 }, expected);
    return [];
  } catch {
    const is = await page.evaluate(() => ["command", "title", "error", "state"].map((id) => document.getElementById(id).textContent).join(" | "));
    return [`${state}: expected ${JSON.stringify(expected)}, the page shows ${is}`];
  }
}

module.exports = { Ui, browser, show, settled, shows };
