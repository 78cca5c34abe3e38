// The page in a notebook's widget (widget.js): it tells Python what it shows, and asks Python for what it cannot compute.

import { openPage } from "../runs/recorded.js";
import { askThrough, openServed } from "../runs/served.js";
import { editsOf } from "../runs/switches.js";
import { startPage } from "../shown/main.js";
import { state } from "../view/state.js";
import { current } from "../view/view.js";

const LATE = 1000; // milliseconds, after which the reader is told what the page waits for
const waiting = new Map(); // what Python was asked -> the function that takes its answer

/** Ask Python; it answers when no cell is running. */
const askPython = async (question, tell) => {
  const id = Math.random(); // if the same widget is shown twice, both get all answers
  const late = setTimeout(() => tell("Waiting for Python …"), LATE);
  const { answer, error } = await new Promise((take) => {
    waiting.set(id, take);
    parent.postMessage({ id, question }, "*");
  });
  clearTimeout(late);
  tell("");
  if (error) throw new Error(error);
  return answer;
};

/** Tell which cell is shown, of which tensor and which pass: a question that Python can answer for itself. */
const tellShown = () => {
  const { names, shapes, sentence } = current.whole;
  const { tensor, head, row, column, mode, position, cached, switches } = state;
  const kept = names.includes(tensor) && shapes[tensor].kept; // the best words, in the place of all
  const inTime = mode === "step" && !switches.causal; // no later word has come yet: stepping.js
  const { text, to: target, expected } = sentence;
  const translation = inTime && !cached ? expected.slice(0, position + 1) : expected;
  const edits = editsOf(current.whole, inTime && cached ? { ...switches, causal: true } : switches);
  const place = { tensor, head, row, column: kept?.ids?.[row]?.[column] ?? column, position };
  const shown = { ...place, padding: switches.padding, text, target, translation, edits };
  parent.postMessage({ address: location.hash, shown }, "*");
};

addEventListener("message", ({ source, data }) => {
  if (source !== parent) return;
  if ("address" in data) location.hash = data.address;
  else waiting.get(data.id)?.(data);
});

location.hash = window.name; // where to begin
for (const id of ["copy-link", "copy-frame"]) document.getElementById(id).hidden = true; // its address leads nowhere
askThrough(askPython);
new MutationObserver(tellShown).observe(document.body, { attributeFilter: ["data-shown"] });
startPage(JSON.parse(document.getElementById("payload").textContent).models.length ? openPage : openServed);
