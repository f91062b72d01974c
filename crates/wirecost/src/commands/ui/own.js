"use strict";
// The reader's own run or capture: sends a file, and puts in place what it is told.
const own = {
  // What is larger is not sent: wirecost refuses it by its length.
  most: 100000000,
  file: null,
  sending: new AbortController(),
};

// Asks for what is shown of a file, or of the folder that was opened: null where there is none.
async function askOwn(file) {
  own.sending.abort();
  own.sending = new AbortController();
  const { signal } = own.sending;
  say("own-error", "");
  say("own-hint", "");
  at("own-state").textContent = file ? `${file.name} is being read.` : "";
  at("own").setAttribute("aria-busy", "true");
  try {
    const more = file ? `&name=${encodeURIComponent(file.name)}&bytes=${file.size}` : "";
    const body = file && file.size <= own.most ? file : null;
    const response = await fetch(`/api/own?client=${client}${more}&${query()}`, { method: file ? "POST" : "GET", body, signal });
    const type = response.headers.get("Content-Type") ?? "";
    const answer = type.startsWith("application/json") ? await response.json() : { error: (await response.text()).trim() };
    if (answer?.error) throw Object.assign(new Error(answer.error), { hint: answer.hint ?? "" });
    if (answer) showOwn(answer);
    return answer;
  } catch (error) {
    if (!signal.aborted) refuseOwn(error);
    return null;
  } finally {
    if (own.sending.signal === signal) at("own").removeAttribute("aria-busy");
  }
}

function refuseOwn(error) {
  const isLost = error instanceof TypeError;
  at("own-state").textContent = "";
  at("own-part").replaceChildren();
  say("own-error", isLost ? "wirecost ui does not answer, or the file could not be read" : error.message);
  say("own-hint", isLost ? "see whether wirecost ui still runs, and choose the file again" : error.hint ?? "");
}

function showOwn(answer) {
  at("own-part").innerHTML = answer.part;
  at("own-title").textContent = `Your own: ${answer.name}`;
  at("own-state").textContent = `${answer.name} is shown.`;
  at("own-again").hidden = false;
}

// Shows a file, and goes to it.
async function take(file) {
  if (!file) return;
  own.file = file;
  if (await askOwn(file)) at("own-title").focus();
}

async function beginOwn() {
  at("own-file").addEventListener("change", (event) => take(event.target.files[0]));
  at("own-again").addEventListener("click", () => askOwn(own.file));
  // Without this, a browser leaves the page for a file that is dropped on it.
  addEventListener("dragover", (event) => { event.preventDefault(); at("drop").classList.add("over"); });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) at("drop").classList.remove("over"); });
  addEventListener("drop", (event) => {
    event.preventDefault();
    at("drop").classList.remove("over");
    take(event.dataTransfer.files[0]);
  });
  const opened = await askOwn(null);
  if (!opened) return;
  // wirecost report --open: the folder is what the reader wants to see first.
  document.title = opened.name;
  document.querySelector("main").prepend(at("own"));
  at("own-title").focus();
}
