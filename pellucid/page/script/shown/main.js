// Start the page: open its content, then show the view that the address names, and each later view.

import { fill, found, words } from "../base/elements.js";
import { page } from "../base/page.js";
import { roam } from "../base/roam.js";
import { alignmentOf } from "../runs/parts.js";
import { UNSWITCHED, cannotSwitch, countSwitched, isSwitched } from "../runs/switches.js";
import { showOwnForm } from "../own/own.js";
import { hashOf, replaceState, setState, state, stateOf, whenSet, withinRuns, writeAddress } from "../view/state.js";
import { momentInWords, playing, timeControls } from "../view/time.js";
import { fitTyping, ownRun, startTyping, writeTyped } from "../view/typing.js";
import { runInTime, runSwitched, showRuns } from "../view/view.js";
import { besideCards, besideOf, choiceOfRuns } from "./beside.js";
import { waysSideBySide } from "./both_ways.js";
import { modelOf } from "./drawing.js";
import { effectOf } from "./effect.js";
import { focusLevel } from "./keys.js";
import { lightHeadline } from "./lighting.js";
import { showFrame, startMovie } from "./movie.js";
import { drawSwitches, startSwitches } from "./panel.js";
import { startSharing } from "./share.js";
import { givenInWords, headlineOf, stepsTable } from "./sentence.js";
import { drawStage, holdBehind } from "./stage.js";
import { drawTour, goToStop } from "./tour.js";
import { sharesOf, sourceWarning, whyWord } from "./why.js";

let viewsAsked = 0;

/** Draw the state. If it changes while it is being drawn, only the last state is drawn to the end. */
const showView = async (focus = null) => {
  const asked = (viewsAsked += 1);
  const isWanted = () => asked === viewsAsked;
  try {
    const shown = state;
    const runs = await runsOfView().catch((error) => runsInstead(shown, error));
    if (!isWanted()) return;
    showRuns(runs);
    replaceState(withinRuns(state, runs));
    if (!state.fault) writeAddress();
    tellFault(state.fault);
    await drawView(runs, isWanted);
    if (!isWanted()) return;
    if (focus) focusLevel(focus.left);
    document.body.dataset.shown = location.hash; // the view that is drawn; tests wait for it
  } catch (error) {
    if (!isWanted()) return; // a newer drawing was requested
    tellFault(error.message);
    throw error;
  }
};

/** If a sentence in the address cannot be explained, show the page's own run; the sentence stays in its field. */
const runsInstead = (asked, error) => {
  if (asked.text === null || asked !== state) throw error;
  writeTyped(asked);
  replaceState({ ...asked, text: null, to: null, target: null, switches: UNSWITCHED, fault: error.message });
  return runsOfView();
};

/** Return the runs of the state: base (no switches) and whole (with switches), at all positions; before and run, the same
 *  two at the current step (before is null if they are one); beside, the run to compare with. */
const runsOfView = async () => {
  const chosen = await page.open(state.run);
  const base = state.text === null ? chosen : await ownRun(state.text, state.to, state.target, chosen.model);
  const reason = isSwitched(state.switches) ? cannotSwitch(base, state.switches) : "";
  const whole = isSwitched(state.switches) && !reason ? await runSwitched(base, state.switches) : base;
  const [run, before] = await Promise.all([runInTime(whole), whole === base ? null : runInTime(base)]);
  const [beside, shares] = [await besideOf(base, before), await alignmentOf(run)];
  return { base, whole, run, before, reason, beside, shares, heads: run.config.heads };
};

const drawnFor = new Map();

/** Draw a part of the page only if its facts have changed. A second call with the same facts returns the same promise.
 *  If drawing fails, show the error; the next call tries again. */
const drawFor = (name, facts, draw) => {
  const known = drawnFor.get(name);
  if (known?.facts.length === facts.length && known.facts.every((fact, at) => fact === facts[at])) return known.drawing;
  const drawing = Promise.resolve(draw());
  drawnFor.set(name, { facts, drawing });
  drawing.catch((error) => {
    if (drawnFor.get(name)?.drawing === drawing) drawnFor.delete(name);
    tellFault(error.message);
    throw error;
  });
  return drawing;
};

/** Fill the place with this id with the result of `make` if the facts have changed. */
const fillFor = (id, facts, make) => drawFor(id, facts, () => fill(found(id), make()));

const drawView = async ({ base, whole, run, before, beside, reason, shares }, isWanted) => {
  const { block, tensor, head, position, mode, cached, switches, open, stop, beside: asked } = state;
  document.body.classList.toggle("deep", block !== "" || open === "own");
  document.body.dataset.look = state.look;
  document.body.classList.toggle("own-open", open === "own");
  found("drawing-place").hidden = block !== "";
  found("stage").hidden = block === "";
  found("looked").hidden = run !== page.runs[0] || !found("looked").querySelector("tbody tr"); // of the first run, if any
  found("unfold").querySelector(".count").textContent = countSwitched(switches) || "";
  holdBehind(block !== "" && open !== "own");
  await fillFor("sentence", [whole, run, before], () => headlineOf(whole, run, before, sharesOf(whole)));
  if (!isWanted()) return;
  roam(found("sentence"));
  lightHeadline(run, shares, position);
  fillFor("meter", [whole], () => sourceWarning(whole));
  fillFor("difference", [base], () => fromTheSearch(base));
  fillFor("given", [base, state.text], () => givenInWords(base, state.text));
  drawFor("typing", [whole.model], () => fitTyping(whole.model));
  if (!state.fault)
    drawFor("typed", [state.text, state.to, state.target, state.second, state.run], () => writeTyped(state));
  fillFor("runs", [state.run, state.text, asked], choiceOfRuns);
  drawFor("frame", [state.run, state.text], showFrame);
  fillFor("time", [whole, mode, position, cached, playing], () => timeControls(whole)).then(() => roam(found("time")));
  fillFor("moment", [run, mode, position, cached], () => momentInWords(run));
  drawFor("switches", [whole, switches, mode, cached, block, head], () => drawSwitches(whole));
  drawFor("steps", [run, before, position], () => drawSteps(stepsTable(run, before)));
  fillFor("both-ways", [whole, mode, position, cached], () => waysSideBySide(whole));
  fillFor("beside", [run, beside, block, switches], () => besideCards(run, beside)).then(() => roam(found("beside")));
  await fillFor("effect", [run, before, block, head, position, reason], () => effectOf(run, before, reason));
  if (!isWanted()) return;
  if (block === "") await drawFor("drawing", [run, mode, position, cached], () => drawModel(run));
  else await drawStage(run, beside, found("stage"));
  if (!isWanted()) return;
  const { why, against, corrupted, form } = state;
  await fillFor("why-word", [base, switches, block === "decoder.word", position, why, against, corrupted], () =>
    whyWord(base, switches),
  );
  await drawFor("open", [open, stop, ...(open === "tour" ? [run, hashOf(state)] : [form])], () => drawOpened(open));
  drawFor("scrolled", [block, tensor, open === "tour" && stop], showOpenMatrix);
};

const fromTheSearch = ({ difference }) =>
  difference ? [difference, " The numbers are those of the pass, in float32."] : null;

const drawSteps = async (table) => {
  const place = found("steps").querySelector(".wide-table");
  await fill(place, table);
  roam(place);
};

const drawModel = async (run) => {
  const model = modelOf(run);
  if (await fill(found("drawing"), model)) (await model).appear();
};

/** Scroll to a stage that an address or the tour opens; if the reader opened the stage, do not scroll. */
const showOpenMatrix = () => {
  if (found("stage").querySelector(".stage-plates").contains(document.activeElement)) return;
  measureEdges();
  const place = state.tensor ? found("stage") : document.querySelector(".headline");
  const { top } = place.getBoundingClientRect();
  if (state.open === "tour" || (state.tensor && (top < 0 || top > innerHeight / 2))) place.scrollIntoView();
};

/** Draw the tour or the form for the reader's own matrices, if it is open. */
const drawOpened = async (open) => {
  for (const name of ["tour", "own"]) found(`open-${name}`).setAttribute("aria-expanded", String(open === name));
  found("open-own").textContent = open === "own" ? "← Back" : "Check my homework";
  found("own-place").hidden = open !== "own";
  await (open === "tour" ? drawTour(found("tour-place")) : fill(found("tour-place"), null));
  if (open !== "own") return;
  await showOwnForm(found("own-place"), { carried: state.form, remember: (form) => setState({ form }) });
};

const openOrClose = async (name) => {
  const open = state.open === name ? "" : name;
  if (open === "tour") await goToStop(0);
  else await setState({ open, stop: null });
  const first = name === "tour" ? ".primary" : "select";
  found(`${name}-place`).querySelector(first)?.focus();
};

/** Show why something cannot be shown; "" removes the message. */
const tellFault = (message) => (found("fault").textContent = message);

const showAddress = () => {
  replaceState(stateOf(location.hash));
  return showView();
};

// The parts at the edges of the window. CSS needs their heights, to give the rest of the window to the other parts.
const EDGES = {
  "--tour-height": found("tour-place"),
  "--masthead": document.querySelector(".masthead"),
  "--dock": found("dock"),
};
const measureEdges = () => {
  for (const [name, edge] of Object.entries(EDGES))
    document.documentElement.style.setProperty(name, `${edge.offsetHeight}px`);
};
const edgesChanged = new ResizeObserver(measureEdges);

/** Start the page. open: fills `page`, from the file or from a server; if it returns nothing, there is nothing to show. */
export const startPage = async (open) => {
  whenSet(showView);
  if (!(await open())) return;
  document.body.classList.add("alive");
  for (const token of found("looked").querySelectorAll("bdi")) token.replaceWith(words(token.textContent));
  startTyping();
  found("open-tour").addEventListener("click", () => openOrClose("tour"));
  found("open-own").addEventListener("click", () => openOrClose("own"));
  startSwitches();
  startMovie();
  startSharing();
  found("skip").addEventListener("click", () => focusLevel(null));
  found("dock").hidden = false;
  for (const edge of Object.values(EDGES)) edgesChanged.observe(edge);
  addEventListener("popstate", showAddress);
  addEventListener("hashchange", () => location.hash !== hashOf(state) && showAddress());
  document.body.inert = true; // a button needs the runs that the first view makes
  await showAddress().finally(() => (document.body.inert = false));
};
