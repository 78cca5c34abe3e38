// The guided tour: a card beside the live page, which it sets to a view at every stop.

/** What the tour speaks of: the sentence without any switch that is tried on the way. */
const tourRun = () => current.base;

/** The stops that this page's model has: where there is no cross-attention, none is visited. */
const stopsOf = (run) => TOUR.filter(({ tensor }) => tensor === "" || run.names.includes(tensor));

/** The state of a stop: its view, and nothing left over from what was tried before. */
const stateOfStop = async (run, stop, number) => ({
  ...FIRST_STATE, run: state.run, text: state.text, to: state.to, target: state.target,
  ...placeOf(stop.tensor), ...(await stop.changes?.(run)), open: "tour", stop: number,
});

const goToStop = async (number) => {
  const run = tourRun();
  const stop = stopsOf(run)[number];
  if (stop) await setState(await stateOfStop(run, stop, number));
};

/** Ends the tour, with the view as it is; the focus goes back to where the tour began. */
const leaveTour = async () => {
  await setState({ open: "", stop: null });
  found("open-tour").focus();
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
  if (wanted.head >= current.heads) return "this model has one head.";
  if (hashOf({ ...own, ...wanted }) === hashOf(own)) return "here it is already.";
  if (!wanted.switches || !cannotSwitch(run, wanted.switches)) return "";
  return "this page holds a recording, and none was made of that.";
};

/** Whether the trial's view is what is shown. */
const isTried = (wanted) => hashOf({ ...state, ...wanted }) === hashOf(state);

/** The card of the present stop, in `place`; a stop that one comes to is said aloud. */
const drawTour = async (place) => {
  const asked = (place.asked = {});
  const run = tourRun();
  const stops = stopsOf(run);
  const number = Math.min(state.stop ?? 0, stops.length - 1);
  const stop = stops[number];
  const [text, trial] = [await stop.text(run), await trialOf(run, stop, number)];
  if (place.asked !== asked) return; // something newer is being drawn
  const held = place.contains(document.activeElement);
  redraw(place, tourCard({ stop, number, count: stops.length, text, trial }));
  if (held && !place.contains(document.activeElement)) place.querySelector(".primary").focus();
  keepBelowTour(place);
  if (place.told !== stop) say([...place.querySelector(".tour-says").children].map((part) => part.textContent).join(". "));
  place.told = stop;
};

const tourCard = ({ stop, number, count, text, trial }) => {
  const button = (key, label, action, properties = {}) =>
    element("button", { type: "button", "data-key": `tour-${key}`, click: action, ...properties }, label);
  const isLast = number + 1 === count;
  return element(
    "section",
    { class: "tour", "aria-label": "Tour", keydown: leaveWithEscape },
    element("div", { class: "tour-says" },
      element("p", { class: "tour-count" }, `Stop ${number + 1} of ${count}`),
      element("h2", {}, stop.title),
      element("p", { class: "tour-text" }, ...text)),
    element("div", { class: "tour-does" },
      trialButton(stop.trial.label, trial, number, button),
      element("div", { class: "tour-buttons" },
        button("back", "Back", () => goToStop(number - 1), { disabled: number === 0 }),
        button("next", isLast ? "Finish" : "Next", () => (isLast ? leaveTour() : goToStop(number + 1)), { class: "primary" }),
        button("leave", "Leave", leaveTour, { "aria-label": "Leave the tour" }))),
  );
};

/** What there is to try; pressed again, it is undone. */
const trialButton = (label, { wanted, reason }, number, button) => {
  if (reason) return element("p", { class: "tour-reason" }, `${label}: ${reason}`);
  const tried = isTried(wanted);
  const change = () => (tried ? goToStop(number) : setState(wanted));
  return button("try", label, change, { class: "try", "aria-pressed": String(tried) });
};

const leaveWithEscape = (event) => {
  if (event.key !== "Escape") return;
  event.stopPropagation();
  leaveTour();
};

/** What scrolls into view stops below the card, however high it is. */
const keepBelowTour = (place) =>
  document.documentElement.style.setProperty("--tour-height", `${place.offsetHeight}px`);
