// The guided tour: a card beside the live page, which it sets to a view at every stop.

import { button, element, fill, found, say } from "../base/elements.js";
import { UNSWITCHED, cannotSwitch } from "../runs/switches.js";
import { FIRST_STATE, hashOf, placeOf, setState, state } from "../view/state.js";
import { current } from "../view/view.js";
import { TOUR } from "./tour_stops.js";

const tensorOfStop = (run, { tensor }) => (typeof tensor === "function" ? tensor(run) : tensor);

/** The stops whose tensors this page's model has. */
const stopsOf = (run) => TOUR.filter((stop) => [...run.names, ""].includes(tensorOfStop(run, stop)));

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
  const stop = stopsOf(current.base)[number];
  if (stop) await setState(await stateOfStop(current.base, stop, number));
};

/** End the tour, with the view as it is; the focus goes back to where the tour began, or into the sheet before it. */
const leaveTour = async () => {
  await setState({ open: "", stop: null });
  const isBehind = found("open-tour").closest("[inert]");
  (isBehind ? found("stage").querySelector(".close-sheet") : found("open-tour")).focus();
};

/** Draw the card of the present stop, which speaks of the sentence without any switch that is tried on the way; screen
 *  readers read a new stop aloud. */
export const drawTour = async (place) => {
  const run = current.base;
  const stops = stopsOf(run);
  const number = Math.min(state.stop ?? 0, stops.length - 1);
  const held = place.contains(document.activeElement);
  if (!(await fill(place, tourCard(run, stops, number)))) return;
  if (held && !place.contains(document.activeElement)) place.querySelector(".primary").focus();
  keepBelowTour();
  if (place.told !== stops[number])
    say([...place.querySelector(".tour-says").children].map((part) => part.textContent).join(". "));
  place.told = stops[number];
};

const tourCard = async (run, stops, number) => {
  const { title, text, trial } = stops[number];
  const isLast = number + 1 === stops.length;
  const onwards = () => (isLast ? leaveTour() : goToStop(number + 1));
  const leaveWithEscape = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    leaveTour();
  };
  const tried = await trialButton(run, stops[number], trial, number);
  return element("section.tour", { "aria-label": "Tour", keydown: leaveWithEscape }, [
    element("div.tour-says", [
      element("p.tour-count", `Stop ${number + 1} of ${stops.length}`),
      element("h2", title),
      element("p.tour-text", await text(run)),
    ]),
    element("div.tour-does", [
      tried,
      element("div.tour-buttons", [
        tourButton("back", "Back", () => goToStop(number - 1), { disabled: number === 0 }),
        tourButton("next", isLast ? "Finish" : "Next", onwards, { class: "primary" }),
        tourButton("leave", "Leave", leaveTour, { "aria-label": "Leave the tour" }),
      ]),
    ]),
  ]);
};

const tourButton = (key, label, action, properties = {}) =>
  button(label, action, { type: "button", "data-key": `tour-${key}`, ...properties });

/** What there is to try; pressed again, it is undone. Where this page cannot, the reason. */
const trialButton = async (run, stop, { label, tensor, switches, changes }, number) => {
  const wanted = {
    ...(tensor === undefined ? {} : placeOf(tensor)),
    ...(switches ? { switches: { ...UNSWITCHED, ...switches } } : {}),
    ...(await changes?.(run)),
  };
  const own = await stateOfStop(run, stop, number);
  const reason = reasonAgainst(run, wanted, own);
  if (reason) return element("p.tour-reason", `${label}: ${reason}`);
  const pressed = hashOf({ ...state, ...wanted }) === hashOf(state);
  const change = () => (pressed ? goToStop(number) : setState({ ...own, ...wanted }));
  return tourButton("try", label, change, { class: "try", pressed });
};

const reasonAgainst = (run, wanted, own) => {
  if (wanted.missing) return "this model has no such part.";
  if (current.heads === 1 && "head" in wanted) return "this model has one head.";
  if (hashOf({ ...own, ...wanted }) === hashOf(own)) return "here it is already.";
  if (!wanted.switches || !cannotSwitch(run, wanted.switches)) return "";
  return "this page holds a recording, and none was made of that.";
};

/** What scrolls into view stops below the card, however high it is. */
const keepBelowTour = () =>
  document.documentElement.style.setProperty("--tour-height", `${found("tour-place").offsetHeight}px`);

new ResizeObserver(keepBelowTour).observe(found("tour-place"));
