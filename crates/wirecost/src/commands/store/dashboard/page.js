"use strict";
// Everything here is bounded: a ring of readings for each sensor, a ring of ticks, a fixed number of rows. What devices send is
// only ever the text of a node.

const POINTS = 64;          // readings of a sensor, as the server keeps them
const TICKS = 480;          // two minutes of ticks of 250 ms
const ROWS = 40;            // rows of the table
const MINUTE = 60000;
const GRID_HEIGHT = 200;    // of the squares, in pixels, as far as they stay large enough
const PALE = 5000;          // age at which a square is pale
const SVG = "http://www.w3.org/2000/svg";

const byId = id => document.getElementById(id);
const say = (node, text) => { if (node.textContent !== text) node.textContent = text; };

// ---- numbers

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0, useGrouping: true });
const count = number => grouped.format(number).replaceAll(",", "\u202f");

function delay(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 0.1) return Math.round(ms * 1000) + " µs";
  if (ms < 10) return ms.toFixed(2) + " ms";
  if (ms < 1000) return Math.round(ms) + " ms";
  return (ms / 1000).toFixed(ms < 10000 ? 2 : 1) + " s";
}

function short(number) {
  const size = Math.abs(number);
  if (size !== 0 && (size < 0.001 || size >= 1e6)) return number.toExponential(2);
  return String(Number(number.toPrecision(5)));
}

const age = ms => ms < 950 ? "now" : ms < 99500 ? Math.round(ms / 1000) + " s" : Math.round(ms / 60000) + " min";

// ---- state

let sensors = [];           // { topic, readings, shown, stored, points: [[at, value, sent], ...] }
let ticks = [];             // [at, arrived, [mean, max] of sent, the same of stored]
let now = 0;                // the server's time of the last event
let chosen = -1;
let isChosenByHand = false;
let unlisted = 0;

function take(news) {
  now = news.at;
  unlisted = news.unlisted;
  for (const tick of news.ticks) ticks.push(tick);
  if (ticks.length > TICKS) ticks.splice(0, ticks.length - TICKS);
  for (const [index, readings, shown, stored, points, topic] of news.sensors) {
    if (topic !== null) sensors[index] = { topic, readings: 0, shown: "", stored: null, points: [] };
    const sensor = sensors[index];
    sensor.readings = readings;
    sensor.shown = shown;
    sensor.stored = stored;
    for (const point of points) sensor.points.push(point);
    if (sensor.points.length > POINTS) sensor.points.splice(0, sensor.points.length - POINTS);
  }
  if (!isChosenByHand && (chosen < 0 || !hasNumbers(sensors[chosen]))) choose();
  counts(news);
}

const last = sensor => sensor.points[sensor.points.length - 1];
const hasNumbers = sensor => sensor.points.some(point => point[1] !== null);

// The first sensor with numbers, otherwise the first one: until the reader chooses.
function choose() {
  const first = sensors.findIndex(hasNumbers);
  chosen = first >= 0 ? first : sensors.length > 0 ? 0 : -1;
}

// Readings per second of the last minute.
function rate(sensor) {
  const points = sensor.points.filter(point => now - point[0] < MINUTE);
  if (points.length < 2) return null;
  const span = points[points.length - 1][0] - points[0][0];
  return span > 0 ? (points.length - 1) / span * 1000 : null;
}

// ---- counts and state

function counts(news) {
  const names = ["received", "stored", "refused", "lost", "held", "resent", "set-aside", "redelivered"];
  names.forEach((name, at) => say(byId(name), count(news.counts[at])));
  for (const name of ["refused", "lost", "set-aside"]) {
    byId(name).parentNode.classList.toggle("bad", news.counts[names.indexOf(name)] > 0);
  }
  const [broker, store] = news.open;
  const words = broker && store ? "broker and store are connected" : news.said || "connecting";
  state(broker && store ? "good" : "bad", words);
}

function state(kind, words) {
  byId("page-dot").className = "dot " + kind;
  say(byId("page-state"), words);
}

// ---- plots

function element(parent, name, attributes) {
  const node = document.createElementNS(SVG, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  parent.append(node);
  return node;
}

// A plot of lines over time, in the classes of the charts of reports: its nodes are made once, and change afterwards.
function plot(svg, height, classes) {
  const margin = { left: 52, right: 10, top: 8, bottom: 20 };
  const grid = [0, 1, 2].map(() => element(svg, "line", { class: "grid" }));
  const labels = [0, 1, 2].map(() => element(svg, "text", { class: "tick", "text-anchor": "end", dy: "0.35em" }));
  const times = [0, 1, 2].map(at => element(svg, "text", { class: "tick", "text-anchor": ["start", "middle", "end"][at] }));
  const lines = classes.map(name => element(svg, "polyline", { class: "curve " + name }));
  const beats = element(svg, "path", { class: "beat" });
  const dot = element(svg, "circle", { class: "last", r: 3.5, visibility: "hidden" });
  return ({ from, to, low, high, series, marks, format }) => {
    const width = svg.clientWidth || 680;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const [x0, x1] = [margin.left, width - margin.right];
    const [y0, y1] = [height - margin.bottom, margin.top];
    const x = at => x0 + (at - from) / (to - from) * (x1 - x0);
    const y = value => y0 - (value - low) / (high - low) * (y0 - y1);
    [low, (low + high) / 2, high].forEach((value, at) => {
      for (const [key, place] of [["x1", x0], ["x2", x1], ["y1", y(value)], ["y2", y(value)]]) grid[at].setAttribute(key, place);
      labels[at].setAttribute("x", x0 - 6);
      labels[at].setAttribute("y", y(value));
      say(labels[at], format(value));
    });
    [0, 0.5, 1].forEach((part, at) => {
      times[at].setAttribute("x", x0 + part * (x1 - x0));
      times[at].setAttribute("y", height - 4);
      say(times[at], part === 1 ? "now" : `${Math.round((1 - part) * (to - from) / 1000)} s ago`);
    });
    series.forEach((points, at) => {
      lines[at].setAttribute("points", points.map(([when, value]) => `${x(when).toFixed(1)},${y(value).toFixed(1)}`).join(" "));
    });
    beats.setAttribute("d", marks.map(when => `M${x(when).toFixed(1)} ${y0}v-6`).join(""));
    const end = series[0][series[0].length - 1];
    dot.setAttribute("visibility", end && classes[0] === "value" ? "visible" : "hidden");
    if (end) {
      dot.setAttribute("cx", x(end[0]));
      dot.setAttribute("cy", y(end[1]));
    }
  };
}

// Bounds that hold all values and do not move with each of them: a step of 1, 2 or 5 times a power of ten.
function bounds(values, fromZero) {
  let low = Math.min(...values), high = Math.max(...values);
  if (values.length === 0) [low, high] = [0, 1];
  if (fromZero) low = 0;
  const span = high - low || Math.abs(high) / 10 || 1;
  const power = 10 ** Math.floor(Math.log10(span / 2));
  const step = [1, 2, 5, 10].map(factor => factor * power).find(step => step >= span / 2);
  low = fromZero ? 0 : Math.floor(low / step) * step;
  high = Math.ceil(high / step) * step;
  return high > low ? [low, high] : [low, low + step];
}

const drawRates = plot(byId("rates"), 150, ["rate"]);
const drawDelays = plot(byId("delays"), 150, ["sent", "kept"]);
const drawFocus = plot(byId("focus"), 240, ["value", "sent"]);

// Ticks of one second together.
function seconds() {
  const found = new Map();
  ticks.slice(1).forEach(([at, arrived, sent, stored], before) => {
    const second = Math.floor(at / 1000);
    const sum = found.get(second) || { at: second * 1000 + 500, ticks: 0, lasted: 0, arrived: 0, sent: [], stored: [] };
    sum.ticks += 1;
    sum.lasted += at - ticks[before][0];
    sum.arrived += arrived;
    if (sent) sum.sent.push(sent[0]);
    if (stored) sum.stored.push(stored[0]);
    found.set(second, sum);
  });
  return [...found.values()].filter(second => second.ticks >= 3 && second.at < now);
}

const mean = values => values.reduce((sum, value) => sum + value, 0) / values.length;

function drawNow() {
  const all = seconds();
  const [from, to] = [now - 120000, now];
  const rates = all.map(second => [second.at, second.arrived / second.lasted * 1000]);
  const [low, high] = bounds(rates.map(point => point[1]), true);
  drawRates({ from, to, low, high, series: [rates], marks: [], format: short });
  const recent = rates.slice(-5).map(point => point[1]);
  say(byId("rate"), recent.length ? count(mean(recent)) : "–");
  const series = ["sent", "stored"].map(name =>
    all.filter(second => second[name].length > 0).map(second => [second.at, mean(second[name])]));
  const [least, most] = bounds(series.flat().map(point => point[1]), true);
  drawDelays({ from, to, low: least, high: most, series, marks: [], format: delay });
  const lately = ticks.filter(tick => now - tick[0] < 10000);
  for (const [id, at] of [["sent-now", 2], ["stored-now", 3]]) {
    const own = lately.map(tick => tick[at]).filter(pair => pair);
    say(byId(id), own.length ? `${delay(mean(own.map(pair => pair[0])))}, ${delay(Math.max(...own.map(pair => pair[1])))}` : "–");
  }
}

function drawChosen() {
  const sensor = sensors[chosen];
  if (!sensor || sensor.points.length === 0) return;
  say(byId("focus-topic"), sensor.topic);
  say(byId("focus-value"), sensor.shown);
  const points = sensor.points.filter(point => now - point[0] < MINUTE);
  const values = points.filter(point => point[1] !== null).map(([at, value]) => [at, value]);
  const delays = points.filter(point => point[2] !== null).map(([at, , sent]) => [at, sent]);
  const isValue = values.length > 0;
  const shown = isValue ? values : delays;
  const [low, high] = bounds(shown.map(point => point[1]), !isValue);
  const format = isValue || delays.length === 0 ? short : delay;
  const series = isValue ? [values, []] : [[], delays];
  drawFocus({ from: now - MINUTE, to: now, low, high, series, marks: points.map(point => point[0]), format });
  const own = rate(sensor);
  const sent = last(sensor)[2];
  say(byId("focus-note"), `${count(sensor.readings)} readings` + (own === null ? "" : `, ${own.toPrecision(3)} per second`)
    + (sent === null ? ", no send time in the payload" : `, sent to arrived ${delay(sent)}`)
    + `, arrived to stored ${delay(sensor.stored)}`);
  const what = isValue ? "The numbers of its payloads" : delays.length > 0 ? "Delay from sending to arrival: its payloads hold no number"
    : "Arrivals alone: its payloads hold neither a number nor a send time";
  say(byId("focus-caption"), what + "; marks below are arrivals. At most the last " + POINTS + " readings.");
}

// ---- all sensors as squares

const canvas = byId("all");
let columns = 1, pitch = 10;

function drawAll() {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  pitch = Math.max(7, Math.min(24, Math.floor(Math.sqrt(width * GRID_HEIGHT / sensors.length))));
  columns = Math.max(1, Math.floor(width / pitch));
  const height = Math.max(1, Math.ceil(sensors.length / columns)) * pitch;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = height + "px";
  }
  const pen = canvas.getContext("2d");
  const style = getComputedStyle(document.documentElement);
  const [accent, grid, ink] = ["--accent", "--grid", "--ink"].map(name => style.getPropertyValue(name).trim());
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  sensors.forEach((sensor, index) => {
    const [x, y] = [index % columns * pitch, Math.floor(index / columns) * pitch];
    const old = sensor.points.length ? Math.min(1, (now - last(sensor)[0]) / PALE) : 1;
    pen.globalAlpha = 1;
    pen.fillStyle = grid;
    pen.fillRect(x, y, pitch - 2, pitch - 2);
    pen.globalAlpha = 1 - 0.9 * old;
    pen.fillStyle = accent;
    pen.fillRect(x, y, pitch - 2, pitch - 2);
    if (index === chosen) {
      pen.globalAlpha = 1;
      pen.strokeStyle = ink;
      pen.lineWidth = 2;
      pen.strokeRect(x, y, pitch - 2, pitch - 2);
    }
  });
}

function under(event) {
  const place = canvas.getBoundingClientRect();
  const column = Math.floor((event.clientX - place.left) / pitch);
  const index = Math.floor((event.clientY - place.top) / pitch) * columns + column;
  return column < columns ? sensors[index] && index : undefined;
}

canvas.addEventListener("click", event => pick(under(event)));
canvas.addEventListener("mousemove", event => {
  const index = under(event);
  canvas.title = index === undefined ? "" : sensors[index].topic;
});

function pick(index) {
  if (index === undefined) return;
  chosen = index;
  isChosenByHand = true;
  draw();
}

// ---- the table

const rows = Array.from({ length: ROWS }, () => {
  const row = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  const button = document.createElement("button");
  button.type = "button";
  head.append(button);
  row.append(head);
  const cells = ["shown", "spark", "", "", "", "age"].map(name => {
    const cell = document.createElement("td");
    cell.className = name;
    row.append(cell);
    return cell;
  });
  const svg = element(cells[1], "svg", { viewBox: "0 0 128 24", preserveAspectRatio: "none", "aria-hidden": "true" });
  const line = element(svg, "polyline", { class: "curve" });
  const made = { row, button, cells, line, index: -1 };
  row.addEventListener("click", () => pick(made.index));
  return made;
});
byId("rows").append(...rows.map(made => made.row));

let order = [];             // the sensors of the table, in its order
let orderedAt = -Infinity;

const ORDERS = {
  first: null,
  stored: sensor => sensor.stored ?? -1,
  sent: sensor => sensor.points.length ? last(sensor)[2] ?? -1 : -1,
  rate: sensor => sensor.readings,
  silent: sensor => sensor.points.length ? now - last(sensor)[0] : Infinity,
};

// Once a second, so that a row stays long enough to be read.
function sort(isForced) {
  if (!isForced && performance.now() - orderedAt < 1000) return;
  orderedAt = performance.now();
  const filter = byId("filter").value;
  order = [];
  sensors.forEach((sensor, index) => { if (sensor.topic.includes(filter)) order.push(index); });
  const key = ORDERS[byId("order").value];
  if (key) order.sort((one, other) => key(sensors[other]) - key(sensors[one]) || one - other);
}

function spark(sensor) {
  const points = sensor.points.filter(point => now - point[0] < MINUTE && point[1] !== null);
  if (points.length < 2) return "";
  const values = points.map(point => point[1]);
  const low = Math.min(...values), span = Math.max(...values) - low || 1;
  return points.map(([at, value]) =>
    `${(128 - (now - at) / MINUTE * 128).toFixed(1)},${(22 - (value - low) / span * 20).toFixed(1)}`).join(" ");
}

function drawRows() {
  sort(false);
  rows.forEach((made, at) => {
    const index = order[at];
    const sensor = sensors[index];
    made.row.hidden = !sensor;
    made.index = index;
    if (!sensor) return;
    made.row.classList.toggle("chosen", index === chosen);
    say(made.button, sensor.topic);
    const own = rate(sensor), newest = last(sensor);
    const texts = [sensor.shown, null, own === null ? "–" : own.toPrecision(3), delay(newest && newest[2]), delay(sensor.stored),
      newest ? age(now - newest[0]) : "–"];
    texts.forEach((text, cell) => { if (text !== null) say(made.cells[cell], text); });
    made.line.setAttribute("points", spark(sensor));
  });
  const more = order.length - ROWS;
  say(byId("rows-note"), (more > 0 ? `${count(more)} more sensors are not in the table: choose an order, or a part of the topic. ` : "")
    + (unlisted > 0 ? `${count(unlisted)} readings are of topics that the page does not list: too many, or too long.` : ""));
}

for (const id of ["filter", "order"]) byId(id).addEventListener("input", () => { sort(true); draw(); });

// ---- events

let isDrawing = false;

function draw() {
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    say(byId("sensors"), `${count(sensors.length)} ${sensors.length === 1 ? "sensor" : "sensors"}`);
    drawNow();
    drawChosen();
    drawAll();
    drawRows();
  });
}

const events = new EventSource("events");
events.addEventListener("all", event => {
  const all = JSON.parse(event.data);
  const topic = isChosenByHand && sensors[chosen] ? sensors[chosen].topic : null;
  sensors = [];
  ticks = [];
  chosen = -1;
  isChosenByHand = false;
  say(byId("broker"), all.broker);
  say(byId("store"), all.store);
  take(all);
  const again = topic === null ? -1 : sensors.findIndex(sensor => sensor.topic === topic);
  if (again >= 0) [chosen, isChosenByHand] = [again, true];
  sort(true);
  draw();
});
events.addEventListener("news", event => {
  take(JSON.parse(event.data));
  if (!document.hidden) draw();
});
events.addEventListener("end", () => {
  events.close();
  state("", "wirecost store has ended: these are its last counts");
});
events.addEventListener("error", () => {
  if (events.readyState !== EventSource.CLOSED) state("bad", "no connection to wirecost store; trying again");
  else state("bad", "no connection to wirecost store; load the page again");
});
document.addEventListener("visibilitychange", () => { if (!document.hidden) draw(); });
window.addEventListener("resize", draw);
