// The guided tour: a card beside the live page, which it sets to a view at every stop.

/** What the tour speaks of: the sentence without any switch that is tried on the way. */
const tourRun = () => current.base;

/** The stops that this page's model has: one without layers has no attention to stop at. */
const stopsOf = (run) => TOUR.filter(({ tensor }) => tensor === "" || run.names.includes(tensor));

/** Goes to a stop: its view, and nothing left over from what was tried before. */
const goToStop = (number) => {
  const run = tourRun();
  const stop = stopsOf(run)[number];
  return setState({
    ...FIRST_STATE, run: state.run, text: state.text, to: state.to,
    ...placeOf(stop.tensor), ...stop.changes?.(run), open: "tour", stop: number,
  });
};

/** Leaves the tour where it is. */
const leaveTour = () => setState({ open: "", stop: null });

/** What a trial changes, or the reason why this page cannot. */
const trialOf = (run, trial) => {
  const switches = { ...UNSWITCHED, ...trial.switches };
  const reason = trial.switches ? cannotSwitch(run, switches) : "";
  const few = trial.heads > run.config.heads ? "this model has one head" : "";
  const changes = {
    ...(trial.tensor === undefined ? {} : placeOf(trial.tensor)),
    ...(trial.switches ? { switches } : {}),
    ...trial.changes?.(run),
  };
  return { reason: reason || few, changes };
};

/** The card of the present stop, in `place`. */
const drawTour = async (place) => {
  const run = tourRun();
  const stops = stopsOf(run);
  const number = Math.min(state.stop ?? 0, stops.length - 1);
  const stop = stops[number];
  const text = await stop.text(run);
  const { reason, changes } = trialOf(run, stop.trial);
  const button = (key, label, action, properties = {}) =>
    element("button", { type: "button", "data-key": `tour-${key}`, click: action, ...properties }, label);
  redraw(
    place,
    element("section", { class: "tour", "aria-label": "Tour" },
      element("p", { class: "tour-count" }, `Stop ${number + 1} of ${stops.length}`),
      element("h2", {}, stop.title),
      element("p", { class: "tour-text" }, ...text),
      element("p", { class: "tour-trial" },
        reason ? `${stop.trial.label}: not on this page, ${reason}` : button("try", stop.trial.label, () => setState(changes), { class: "try" })),
      element("div", { class: "tour-buttons" },
        button("back", "Back", () => goToStop(number - 1), { disabled: number === 0 }),
        number + 1 < stops.length
          ? button("next", "Next", () => goToStop(number + 1), { class: "primary" })
          : button("next", "Finish", leaveTour, { class: "primary" }),
        button("leave", "Leave the tour", leaveTour)),
    ),
  );
};
