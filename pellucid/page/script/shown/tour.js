// The guided tour: a card beside the live page, which it sets to a view at every stop.

import { button, element, found, redraw, say, ticketOf } from "../base/elements.js";
import { UNSWITCHED, cannotSwitch } from "../runs/switches.js";
import { FIRST_STATE, hashOf, placeOf, setState, state } from "../view/state.js";
import { current } from "../view/view.js";
import { TOUR } from "./tour_stops.js";

/** What the tour speaks of: the sentence without any switch that is tried on the way. */
const tourRun = () => current.base;
const tensorOfStop = (run, { tensor }) => (typeof tensor === "function" ? tensor(run) : tensor);

/** The stops whose tensors this page's model has. */
const stopsOf = (run) =>
  TOUR.filter((stop) => tensorOfStop(run, stop) === "" || run.names.includes(tensorOfStop(run, stop)));

/** The state of a stop: its view, and nothing left over from what was tried before. */
const stateOfStop = async (run, stop, number) => ({
  ...FIRST_STATE,
  run: state.run,
  text: state.text,
  to: state.to,
  target: state.target,
  ...placeOf(tensorOfStop(run, stop)),
  mode: "training",
  ...(await stop.changes?.(run)),
  open: "tour",
  stop: number,
});

export const goToStop = async (number) => {
  const run = tourRun();
  const stop = stopsOf(run)[number];
  if (stop) await setState(await stateOfStop(run, stop, number));
};

/** End the tour, with the view as it is; the focus goes back to where the tour began, or into the sheet before it. */
const leaveTour = async () => {
  await setState({ open: "", stop: null });
  const isBehind = found("open-tour").closest("[inert]");
  (isBehind ? found("stage").querySelector(".close-sheet") : found("open-tour")).focus();
};

/** What a trial changes, or the reason why this page cannot. */
const trialOf = async (run, stop, number) => {
  const { tensor, switches, changes } = stop.trial;
  const wanted = {
    ...(tensor === undefined ? {} : placeOf(tensor)),
    ...(switches ? { switches: { ...UNSWITCHED, ...switches } } : {}),
    ...(await changes?.(run)),
  };
  const own = await stateOfStop(run, stop, number);
  return { wanted, own, reason: reasonAgainst(run, wanted, own) };
};

const reasonAgainst = (run, wanted, own) => {
  if (wanted.missing) return "this model has no such part.";
  if (current.heads === 1 && "head" in wanted) return "this model has one head.";
  if (hashOf({ ...own, ...wanted }) === hashOf(own)) return "here it is already.";
  if (!wanted.switches || !cannotSwitch(run, wanted.switches)) return "";
  return "this page holds a recording, and none was made of that.";
};

/** Whether the trial's view is what is shown. */
const isTried = (wanted) => hashOf({ ...state, ...wanted }) === hashOf(state);

/** Draw the card of the present stop; screen readers read a new stop aloud. */
export const drawTour = async (place) => {
  const isNewest = ticketOf(place);
  const run = tourRun();
  const stops = stopsOf(run);
  const number = Math.min(state.stop ?? 0, stops.length - 1);
  const stop = stops[number];
  const [text, trial] = [await stop.text(run), await trialOf(run, stop, number)];
  if (!isNewest()) return;
  const held = place.contains(document.activeElement);
  redraw(place, tourCard({ stop, number, count: stops.length, text, trial }));
  if (held && !place.contains(document.activeElement)) place.querySelector(".primary").focus();
  keepBelowTour();
  if (place.told !== stop)
    say([...place.querySelector(".tour-says").children].map((part) => part.textContent).join(". "));
  place.told = stop;
};

const tourCard = ({ stop, number, count, text, trial }) => {
  const isLast = number + 1 === count;
  const onwards = () => (isLast ? leaveTour() : goToStop(number + 1));
  return element(
    "section",
    { class: "tour", "aria-label": "Tour", keydown: leaveWithEscape },
    element("div", { class: "tour-says" }, [
      element("p", { class: "tour-count" }, `Stop ${number + 1} of ${count}`),
      element("h2", {}, stop.title),
      element("p", { class: "tour-text" }, ...text),
    ]),
    element("div", { class: "tour-does" }, [
      trialButton(stop.trial.label, trial, number),
      element("div", { class: "tour-buttons" }, [
        tourButton("back", "Back", () => goToStop(number - 1), { disabled: number === 0 }),
        tourButton("next", isLast ? "Finish" : "Next", onwards, { class: "primary" }),
        tourButton("leave", "Leave", leaveTour, { "aria-label": "Leave the tour" }),
      ]),
    ]),
  );
};

const tourButton = (key, label, action, properties = {}) =>
  button(label, action, { type: "button", "data-key": `tour-${key}`, ...properties });

/** What there is to try; pressed again, it is undone. */
const trialButton = (label, { wanted, own, reason }, number) => {
  if (reason) return element("p", { class: "tour-reason" }, `${label}: ${reason}`);
  const pressed = isTried(wanted);
  const change = () => (pressed ? goToStop(number) : setState({ ...own, ...wanted }));
  return tourButton("try", label, change, { class: "try", pressed });
};

const leaveWithEscape = (event) => {
  if (event.key !== "Escape") return;
  event.stopPropagation();
  leaveTour();
};

/** What scrolls into view stops below the card, however high it is. */
const keepBelowTour = () =>
  document.documentElement.style.setProperty("--tour-height", `${found("tour-place").offsetHeight}px`);

new ResizeObserver(keepBelowTour).observe(found("tour-place"));
