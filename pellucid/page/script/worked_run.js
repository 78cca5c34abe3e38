// A worked example as a run, so that the plates show it as they show a translation's attention. Its names
// have no path before them, and its tensors hold float64 (a Float64Array where a recorded run has a
// Float32Array).

/**
 * The run of a worked example, of its stages or of what is shown instead. `given` says what it started
 * from: its matrices and its projections.
 */
const runOfWorked = (worked, title = "", stages = worked.stages) => {
  const { given } = worked;
  const names = Object.keys(stages);
  const tensors = new Map(names.map((name) => [name, tensorOfStage(name, stages[name])]));
  const labels = (axis, length) => given.tokens[axis] ?? Array.from({ length }, (_, place) => String(place));
  const [target, source] = [labels("L", given.queries), labels("M", given.keys)];
  return {
    title,
    source,
    target,
    expected: [],
    text: "",
    translation: "",
    to: null,
    computes: true,
    switches: UNSWITCHED,
    config: {}, // its settings are in `given`
    steps: [],
    names,
    given,
    get: async (name) => {
      if (!tensors.has(name)) throw new Error(noSuchName(name, names));
      return tensors.get(name);
    },
    origin: (name) => (name in given.matrices ? "recorded" : "computed"),
    labels: (name, axis) => {
      const { axes, shape } = tensors.get(name);
      return axis === "L" || axis === "M"
        ? { L: target, M: source }[axis]
        : labels("", shape[axes.indexOf(axis)]);
    },
    parameter: () => null, // its matrices W are in `given`
  };
};

/** From anything that pellucid.attention takes to a run with all stages. */
const workedRun = (asked, title = "") => runOfWorked(workedExample(asked), title);

const tensorOfStage = (name, matrices) => {
  const axes = STAGE_AXES[name];
  const [rows, columns] = [matrices[0].length, columnsOf(matrices[0])];
  const shape = axes.includes("H") ? [1, matrices.length, rows, columns] : [1, rows, columns];
  return makeTensor(axes, shape, Float64Array.from(matrices.flat(2)));
};
