// The guided tour: a card at the edge of the page. At each stop, the page shows another view.

import { button, element, fill, found, say } from "../base/elements.js";
import { page } from "../base/page.js";
import { cannotSwitch } from "../runs/switches.js";
import { hashOf, setState, state, stateOf, withinRuns } from "../view/state.js";
import { current } from "../view/view.js";
import { addressWithFacts, cellOfStop, withFacts } from "./tour_facts.js";

/** Return the state of a tour's address for the current sentence, without the reader's earlier changes. */
const stateAt = async (address, run, cell, stop) => {
  const { run: chosen, text, to, target, look } = state;
  const asked = stateOf(`#${await addressWithFacts(address, run, cell)}&run=${chosen}`); // names are those of its parts
  const runs = { base: run, whole: run, run, before: null, heads: run.config.heads };
  return withinRuns({ ...asked, text, to, target, look, open: "tour", stop }, runs);
};

export const goToStop = async (number) => {
  const [run, stop] = [current.base, page.header.tour[number]];
  if (stop) await setState(await stateAt(stop.view, run, await cellOfStop(run, stop), number));
};

/** End the tour and keep the view. The focus goes to the button that opens the tour or, if that is covered, the stage. */
const leaveTour = async () => {
  await setState({ open: "", stop: null });
  const isBehind = found("open-tour").closest("[inert]");
  (isBehind ? found("stage").querySelector(".close-sheet") : found("open-tour")).focus();
};

/** Draw the card of the current stop. Its text describes the run without switches, even if the reader tries one. Screen
 *  readers read a new stop aloud. */
export const drawTour = async (place) => {
  const run = current.base;
  const number = Math.min(state.stop ?? 0, page.header.tour.length - 1);
  const held = place.contains(document.activeElement);
  if (!(await fill(place, tourCard(run, number)))) return;
  if (held && !place.contains(document.activeElement)) place.querySelector(".primary").focus();
  if (place.told !== number)
    say([...place.querySelector(".tour-says").children].map((part) => part.textContent).join(". "));
  place.told = number;
};

const tourCard = async (run, number) => {
  const stops = page.header.tour;
  const stop = stops[number];
  const isLast = number + 1 === stops.length;
  const cell = await cellOfStop(run, stop);
  const onwards = () => (isLast ? leaveTour() : goToStop(number + 1));
  const leaveWithEscape = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    leaveTour();
  };
  return element("section.tour", { "aria-label": "Tour", keydown: leaveWithEscape }, [
    element("div.tour-says", [
      element("p.tour-count", `Stop ${number + 1} of ${stops.length}`),
      element("h2", stop.title),
      element("p.tour-text", await withFacts(stop.text, run, cell)),
    ]),
    element("div.tour-does", [
      await trialButton(run, stop, cell, number),
      element("div.tour-buttons", [
        tourButton("back", "Back", () => goToStop(number - 1), { disabled: number === 0 }),
        tourButton("next", isLast ? "Finish" : "Next", onwards, { class: "primary" }),
        tourButton("leave", "Leave", leaveTour, { "aria-label": "Leave the tour" }),
      ]),
    ]),
  ]);
};

const tourButton = (key, label, action, properties = {}) =>
  button(label, action, { "data-key": `tour-${key}`, ...properties });

/** Make the button to try something and to undo it; null if it would change nothing or if the page cannot do it. */
const trialButton = async (run, { view, trial, tried }, cell, number) => {
  const [own, wanted] = [await stateAt(view, run, cell, number), await stateAt(tried, run, cell, number)];
  if (hashOf(own) === hashOf(wanted) || cannotSwitch(run, wanted.switches)) return null;
  const pressed = hashOf(wanted) === hashOf(state);
  return tourButton("try", trial, () => setState(pressed ? own : wanted), { class: "try", pressed });
};
