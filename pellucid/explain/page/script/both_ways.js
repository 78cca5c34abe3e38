// With a cache and without one: the same step decoded in both ways, next to each other. With a cache a step computes
// one row and looks at the keys and values remembered; without, it computes all rows so far again.

const comparisons = new WeakMap();

/** A run decoded step by step and compared with all positions at once; made once. */
const comparedInTime = (run, cached) => {
  const known = comparisons.get(run) ?? {};
  comparisons.set(run, known);
  known[cached] ??= stepByStep(run, cached);
  return known[cached];
};

const inExponents = (value) => (value === 0 ? "0" : value.toExponential(1));

const waysOfRuns = new WeakMap();

/** Step t (from 1) of a run as {cached, again}: two runs that end with this step. Made once. */
const waysOfStep = (run, t) => {
  const known = waysOfRuns.get(run) ?? new Map();
  waysOfRuns.set(run, known);
  if (!known.has(t)) known.set(t, bothWays(run, t));
  return known.get(t);
};

const bothWays = (run, t) => {
  const sentence = { ...run.sentence, expected: run.sentence.expected.slice(0, t) };
  const again = { ...computedRun(run.model, sentence, run.switches), name: "without a cache" };
  const made = rowsOfSteps(run, t);
  const cached = finishRun({
    ...run, ...again, name: "with a cache", stepwise: true,
    shapes: Object.fromEntries(again.names.map((name) => [name, made.get(name) ?? run.shapes[name]])),
    get: async (name) => made.get(name) ?? run.get(name), // what the encoder made is remembered
    origin: () => "computed",
    steps: stepsOf(run.model, sentence, again.targetIds, made),
  });
  return { cached, again };
};

/** What t steps with a cache have computed, by name: of each tensor one row a step, under those of the steps before. */
const rowsOfSteps = ({ sourceIds, targetIds, sentence, switches, model }, t) => {
  const transformer = new Transformer(model.config, model.parameters, seeSwitched(switches));
  const mask = sourceIds.map((_, place) => place < sentence.source.length || switches.padding !== "masked");
  const memory = transformer.remember(transformer.encode(sourceIds, mask), mask);
  const past = new GrowingPast();
  const steps = targetIds.slice(0, t).map((id) => {
    const tensors = new Map();
    transformer.see = recording(tensors, seeSwitched(switches));
    transformer.decode([id], memory, past);
    return tensors;
  });
  return new Map([...steps.at(-1).keys()].map((name) => [name, stacked(name, steps.map((step) => step.get(name)))]));
};

/** One row under the other; keys and values that were remembered are all there already. */
const stacked = (name, tensors) => {
  const last = tensors.at(-1);
  if (!last.axes.includes("L")) return last;
  const [rows, heads, { columns }] = [tensors.length, headsOfTensor(last), panelOf(last)];
  const data = new Float32Array(heads * rows * columns).fill(ofLaterKeys(name));
  tensors.forEach((tensor, row) => {
    for (let head = 0; head < heads; head++) {
      data.set(rowOfPanel(panelOf(tensor, head), 0), (head * rows + row) * columns);
    }
  });
  const shape = last.shape.map((size, place) => (last.axes[place] === "L" ? rows : size));
  return makeTensor(last.axes, shape, data);
};

/** What a row has for keys that came after its step: they did not exist, which is what the mask makes of them. */
const ofLaterKeys = (name) => {
  const { last } = splitName(name);
  return last === "weights" ? 0 : last === "mask" || last === "masked_scores" ? -Infinity : NaN;
};

/** The largest difference of the new row's numbers between the two ways, and in which tensor. */
const differenceOfWays = async ({ cached, again }) => {
  let most = { difference: 0, where: "" };
  for (const name of again.names.filter((each) => each.startsWith("decoder"))) {
    const [one, other] = [await cached.get(name), await again.get(name)];
    for (let head = 0; head < headsOfTensor(one); head++) {
      const [new_, same] = [one, other].map((tensor) => lastRowOf(panelOf(tensor, head)));
      new_.forEach((value, place) => {
        const difference = value === same[place] ? 0 : Math.abs(value - same[place]);
        if (!(difference <= most.difference)) most = { difference, where: name };
      });
    }
  }
  return most;
};

const lastRowOf = (panel) => rowOfPanel(panel, panel.rows - 1);

/** The runs that the plates show where both ways are asked for; else null. */
const waysInView = (run) => {
  if (state.beside !== "ways" || state.mode !== "step" || !run.computes) return null;
  const { cached, again } = waysOfStep(run, state.position + 1);
  return { run: cached, beside: again };
};

/** The present step in both ways, as a table: rows computed, what is remembered, and the numbers. */
const drawBothWays = async (run, place) => {
  const mine = (place.asked = {});
  place.hidden = state.mode !== "step" || !run.computes;
  if (place.hidden) return redraw(place);
  const [t, isAsked] = [state.position + 1, state.beside === "ways"];
  const ways = waysOfStep(run, t);
  const { difference, where } = await differenceOfWays(ways);
  if (place.asked !== mine) return;
  const show = () => setState({ beside: isAsked ? "" : "ways" });
  const shown = { "data-key": "both-ways", "aria-pressed": String(isAsked), click: show };
  redraw(
    place,
    element("h2", {}, `Step ${t}, with a cache and without`),
    element("div", { class: "wide-table", tabindex: 0, role: "region", "aria-label": "with a cache and without" },
      tableOf({ class: "both-ways" }, {
        heading: [element("td"), columnHead("with a cache"), columnHead("without")],
        rows: [...rowsComputed(run, t), ...wordsOfWays(ways, t)],
      })),
    element("p", { class: "equality" }, `Largest difference of any number in the new row: ${inExponents(difference)}${where ? ` (${where})` : ""}.`),
    element("button", shown, "Both ways in every matrix"),
  );
};

const rowsComputed = (run, t) => {
  const rows = (count) => `${count} row${count === 1 ? "" : "s"}`;
  const line = (says, cached, again) => [rowHead(says), element("td", {}, cached), element("td", {}, again)];
  const source = t === 1 ? `${rows(run.source.length)}, computed now, once` : `${rows(run.source.length)}, computed once, at step 1`;
  return [
    line("rows computed now", "1", String(t)),
    line("rows computed so far", String(t), String((t * (t + 1)) / 2)),
    line("K and V of the target", `${rows(t - 1)} remembered, 1 new`, `${rows(t)} computed now`),
    line("K and V of the source", source, source),
  ];
};

/** The best next words with their probabilities, which are the same. */
const wordsOfWays = ({ cached, again }, t) => {
  const [one, other] = [cached, again].map(({ steps }) => steps[t - 1].alternatives);
  const cell = ([token, probability]) => element("td", { class: "number" }, words(token), ` ${fourDecimals(probability)}`);
  return one.slice(0, 3).map((each, place) => [rowHead(place ? "" : "the most probable next"), cell(each), cell(other[place])]);
};
