"use strict";
// Moves controls, asks, and puts in place what it is told. Every figure, text and picture is made by wirecost.
const at = (id) => document.getElementById(id);
// The steps of the sliders beside these fields; any other value can be typed. An empty one is a field without a value.
const STEPS = {
  size: ["1B", "4B", "8B", "16B", "32B", "48B", "64B", "100B", "128B", "200B", "256B", "512B", "1kB", "2kB", "5kB", "10kB", "20kB"],
  every: ["10s", "30s", "1min", "2min", "5min", "10min", "15min", "30min", "1h", "2h", "4h", "6h", "12h", "1d"],
  rtt: ["", "5ms", "10ms", "25ms", "50ms", "100ms", "200ms", "400ms", "600ms", "1s", "2s"],
  loss: ["", "0.1%", "0.5%", "1%", "2%", "5%", "10%"],
  within: ["", "100ms", "200ms", "300ms", "500ms", "1s", "2s", "5s", "10s", "30s", "1min", "5min"],
  "battery-years": ["", "1", "2", "3", "4", "5", "6", "8", "10"],
  "monthly-bytes": ["", "100kB", "200kB", "500kB", "1MB", "2MB", "5MB", "10MB", "20MB", "50MB"],
  battery: ["", "230mAh@3V", "1400mAh@3.6V", "2400mAh@3.6V", "3000mAh@3V", "8500mAh@3.6V", "19000mAh@3.6V"],
  devices: ["1", "10", "100", "1000", "10000", "100000", "1000000"],
};
// A pause in typing or dragging after which the question is asked, in ms.
const PAUSE = 120;
const client = Array.from(crypto.getRandomValues(new Uint32Array(3)), (part) => part.toString(36)).join("-");
const fields = new Map();
let first = "";
let asking = new AbortController();
let due = 0;
let row = 0;

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// ---- controls

// A field: the value of a control, and how to set it.
function field(control) {
  if (control.kind === "flag") return flag(control);
  if (control.kind === "choice" && control.is_many) return several(control);
  if (control.kind === "choice") return choice(control);
  return text(control);
}

function flag(control) {
  const input = element("input", { type: "checkbox", id: `c-${control.key}` });
  const label = element("label", { className: "check" }, input, control.key);
  return { node: label, described: input, read: () => (input.checked ? "true" : ""), write: (value) => { input.checked = value === "true"; } };
}

function several(control) {
  const boxes = control.values.map((value) => element("input", { type: "checkbox", value: value.name }));
  const labels = boxes.map((box) => element("label", { className: "check" }, box, box.value));
  const group = element("fieldset", {}, element("legend", { textContent: control.key }), ...labels);
  const chosen = () => boxes.filter((box) => box.checked).map((box) => box.value);
  const write = (value) => boxes.forEach((box) => { box.checked = value.split(",").includes(box.value); });
  return { node: group, described: group, read: () => chosen().join(","), write };
}

function choice(control) {
  const options = control.values.map((value) => new Option(value.help ? `${value.name}: ${value.help}` : value.name, value.name));
  const select = element("select", { id: `c-${control.key}` }, ...(control.default ? [] : [new Option("not set", "")]), ...options);
  const read = () => (select.value === control.default ? "" : select.value);
  return { node: labelled(control, select), described: select, read, write: (value) => { select.value = value || control.default; } };
}

function text(control) {
  const input = element("input", { type: "text", id: `c-${control.key}`, placeholder: control.default || control.value });
  const parts = [input];
  if (control.names.length > 0) {
    const names = control.names.map((name) => element("option", { value: name }));
    parts.push(element("datalist", { id: `l-${control.key}` }, ...names));
    input.setAttribute("list", `l-${control.key}`);
  }
  const steps = STEPS[control.key];
  const slider = steps && element("input", { type: "range", min: 0, max: steps.length - 1, step: 1, ariaLabel: `${control.key}, in steps` });
  const follow = () => {
    if (!slider) return;
    const place = steps.indexOf(input.value || control.default);
    if (place >= 0) slider.value = place;
    slider.setAttribute("aria-valuetext", input.value || control.default || "not set");
  };
  if (slider) {
    slider.addEventListener("input", () => { input.value = steps[slider.value]; follow(); });
    input.addEventListener("input", follow);
    parts.push(slider);
  }
  // A default that is written is one that is not: it stands in the way of no option that takes its place.
  const read = () => (input.value.trim() === control.default ? "" : input.value.trim());
  return { node: labelled(control, ...parts), described: input, read, write: (value) => { input.value = value; follow(); } };
}

function labelled(control, ...parts) {
  return element("div", {}, element("label", { htmlFor: `c-${control.key}`, textContent: control.key }), ...parts);
}

function placed(control) {
  const made = field(control);
  const help = element("small", { id: `h-${control.key}`, textContent: control.help });
  made.described.setAttribute("aria-describedby", help.id);
  fields.set(control.key, made);
  return element("div", { className: "control" }, made.node, help);
}

// A group of controls under their heading: those of --help, and the others behind them.
function group(heading, controls) {
  const near = controls.filter((control) => !control.is_further).map(placed);
  const far = controls.filter((control) => control.is_further).map(placed);
  const legend = element("legend", { textContent: heading });
  if (far.length === 0) return element("fieldset", {}, legend, ...near);
  const words = near.length > 0 ? "more" : "options";
  const summary = element("summary", {}, words, element("span", { className: "sr", textContent: ` of ${heading}` }));
  const more = element("details", { className: "more" }, summary, ...far);
  return element("fieldset", {}, legend, ...near, more);
}

function build(controls) {
  const headings = [...new Set(controls.map((control) => control.heading))];
  const groups = headings.map((heading) => group(heading, controls.filter((control) => control.heading === heading)));
  at("controls").replaceChildren(...groups);
}

// ---- the state as a query

const written = (value) => encodeURIComponent(value).replace(/%(40|2C|3A|3D|2B)/g, (code) => decodeURIComponent(code));

function query() {
  const pairs = [...fields].map(([key, made]) => [key, made.read()]).filter(([, value]) => value !== "");
  return ["v=1", ...pairs.map(([key, value]) => `${key}=${written(value)}`)].join("&");
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

function set(text) {
  const pairs = new Map(text.split("&").map((pair) => [pair.split("=", 1)[0], decoded(pair.slice(pair.indexOf("=") + 1))]));
  for (const [key, made] of fields) made.write(pairs.get(key) ?? "");
}

// ---- asking

async function told(asked, more, signal) {
  const response = await fetch(`/api/choose?client=${client}&${more}${asked}`, { signal, headers: { Accept: "application/json" } });
  const type = response.headers.get("Content-Type") ?? "";
  const answer = type.startsWith("application/json") ? await response.json() : { error: (await response.text()).trim() };
  if (answer.error) throw Object.assign(new Error(answer.error), { hint: answer.hint ?? "" });
  return answer;
}

// Asks until all is simulated, or until another question takes the place of this one.
async function ask(asked) {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  at("answer").classList.add("old");
  try {
    for (let done = 0, drawn = 0, of = 1; done < of;) {
      const answer = await told(asked, `done=${done}&drawn=${drawn}&${row ? `row=${row}&` : ""}`, signal);
      // Another request of this page took the place of this one, such as that for files: it is asked again.
      if (answer.of === 0) continue;
      ({ done, of } = answer);
      // What is drawn stays until there is more to draw: wirecost says how far it is meanwhile.
      if (answer.known) drawn = done;
      show(answer);
    }
  } catch (error) {
    if (!signal.aborted) refuse(error);
  }
}

function soon(pause) {
  clearTimeout(due);
  due = setTimeout(() => { row = 0; ask(query()); }, pause);
}

// ---- showing

function refuse(error) {
  const isLost = error instanceof TypeError;
  say("error", isLost ? "wirecost ui does not answer: it has ended, or the network is away" : error.message);
  say("hint", isLost ? "start it again, and reload this page" : error.hint ?? "");
  at("state").textContent = "";
  at("turn").textContent = "";
  at("progress").className = "done";
}

function say(id, text) {
  at(id).textContent = text;
  at(id).hidden = text === "";
}

function show(answer) {
  say("error", answer.failed.join("; "));
  say("hint", "");
  const isDone = answer.done === answer.of;
  at("state").textContent = isDone
    ? `${answer.of} stacks and ways simulated.`
    : `${answer.done} of ${answer.of} stacks and ways simulated; ${answer.is_ranked ? "those of the sensitivity are last" : "the order may change"}.`;
  at("turn").textContent = turn(answer.before);
  Object.assign(at("progress"), { max: answer.of, value: answer.done, className: isDone ? "done" : "" });
  at("command").textContent = answer.command;
  history.replaceState(null, "", `?${answer.link}`);
  if (answer.known) known(answer.known);
}

// Whose turn it is, where others ask as well.
function turn(before) {
  if (before === 0) return "";
  return before === 1 ? "1 other question has its turn first." : `${before} other questions have their turn first.`;
}

function known(answer) {
  document.title = answer.title;
  at("title").textContent = answer.title;
  at("asked").textContent = answer.asked;
  put(answer.part);
  lines("added-lines", answer.added);
  at("added").hidden = answer.added.length === 0;
  account(answer.account);
}

function lines(id, texts) {
  at(id).replaceChildren(...texts.map((text) => element("li", { textContent: text })));
}

// Puts the part of choice.html in place. What was open stays open, and what had the focus has it again.
function put(part) {
  const answer = at("answer");
  const open = [...answer.querySelectorAll("details")].map((details) => details.open);
  const focused = answer.contains(document.activeElement) ? document.activeElement.dataset.row : undefined;
  answer.innerHTML = part;
  answer.classList.remove("old");
  answer.querySelectorAll("details").forEach((details, place) => { details.open = open[place] ?? false; });
  for (const cell of answer.querySelectorAll(".ranking tbody td:first-child")) cell.replaceChildren(unfold(cell.textContent));
  if (focused) answer.querySelector(`[data-row="${focused}"]`)?.focus();
}

// The button that unfolds the account of a row.
function unfold(number) {
  const button = element("button", { type: "button", textContent: number, ariaLabel: `account of row ${number}`, ariaExpanded: String(row === Number(number)) });
  button.dataset.row = number;
  button.addEventListener("click", async () => {
    row = row === Number(number) ? 0 : Number(number);
    await ask(query());
    if (row && !at("account").hidden) at("account-title").focus();
  });
  return button;
}

// Closes the account; the button that has opened it gets the focus back.
async function close() {
  const number = row;
  row = 0;
  at("account").hidden = true;
  at("answer").querySelector(`[data-row="${number}"]`)?.focus();
  await ask(query());
}

function account(told) {
  at("account").hidden = !told;
  if (!told) return;
  at("account-heading").textContent = told.heading;
  const words = ["phase", "packet"];
  const cell = (name) => (text, place) => element(name, { textContent: text, className: words.includes(told.heads[place]) ? "words" : "" });
  const head = told.heads.map(cell("th"));
  head.forEach((one) => { one.scope = "col"; });
  const rows = told.rows.map((texts) => element("tr", {}, ...texts.map(cell("td"))));
  at("account-table").replaceChildren(element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
  lines("account-notes", told.notes);
}

// ---- passing it on

async function copy(button) {
  const text = button.dataset.copy === "link" ? location.href : at("command").textContent;
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    // Without encryption a browser lets no page copy: the text is marked to be copied by hand.
    getSelection().selectAllChildren(at("command"));
    button.textContent = "Copy what is marked, or the address";
  }
  setTimeout(() => { button.textContent = label; }, 2000);
}

async function makeFiles() {
  for (const link of at("files").querySelectorAll("a")) URL.revokeObjectURL(link.href);
  const { signal } = asking;
  try {
    const answer = await told(query(), "files=1&", signal);
    if (answer.done < answer.of) throw new Error("the simulations are not done yet");
    if (!answer.known) throw new Error("no stack could be simulated");
    at("files").replaceChildren(...answer.known.files.map((file) => {
      const href = URL.createObjectURL(new Blob([file.content], { type: file.content_type }));
      return element("li", {}, element("a", { href, download: file.name, textContent: file.name }));
    }));
  } catch (error) {
    if (!signal.aborted) refuse(error);
  }
}

// ---- begin

async function begin() {
  const answer = await (await fetch("/api/controls")).json();
  first = answer.first;
  build(answer.controls);
  const own = location.search.slice(1);
  set(own || first);
  at("controls").addEventListener("input", () => soon(PAUSE));
  at("controls").addEventListener("submit", (event) => { event.preventDefault(); soon(0); });
  at("account-close").addEventListener("click", close);
  at("make-files").addEventListener("click", makeFiles);
  for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", () => copy(button));
  addEventListener("popstate", () => { set(location.search.slice(1) || first); soon(0); });
  // A link of another version, or with what is no option, is told so: it is asked as it is.
  ask(own || first);
  beginOwn();
}

begin().catch(refuse);
