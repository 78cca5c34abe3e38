// Runs: a pass through the model, with every tensor by its name. What the page shows, it asks a run for.

/** What the file carries: {header, runs}. */
const page = { header: null, runs: [] };

/** Reads what the file carries; numbers are unpacked later, when somebody looks. */
const openPage = async () => {
  page.header = JSON.parse(document.getElementById("payload").textContent);
  page.models = await Promise.all(page.header.models.map(openModel));
  page.runs = page.header.runs.map(recordedRun);
  return page;
};

/** The parameters that the page has of a model, by their names in the model's state_dict. */
const openModel = async (model) => {
  const parameters = new Map();
  for (const [name, place] of Object.entries(model.parameters)) {
    const numbers = numbersIn(await openBlock(place.block), place, sizeOfShape(place.shape));
    parameters.set(name, makeTensor("", place.shape, numbers));
  }
  return { ...model, parameters };
};

/** What a tensor is, in words: {symbol, title, equation, role}. */
const captionOf = (name) => page.header.captions[kindOfTensor(name)];

/** What tensors of the same kind have in common: "attention.weights", "residual.sum". */
const kindOfTensor = (name) => {
  const [part, last] = name.split(".").slice(-2);
  return `${part.endsWith("_attention") ? "attention" : part.replace(/_\d+$/, "")}.${last}`;
};

/** An explanation as it was recorded when the file was written. */
const recordedRun = (recorded) => {
  const model = page.models[recorded.model];
  const opened = new Map();
  const get = (name) => {
    if (!opened.has(name)) opened.set(name, readTensor(recorded.tensors, name));
    return opened.get(name);
  };
  return {
    ...recorded,
    model,
    computes: model.computes,
    switches: UNSWITCHED,
    names: Object.keys(recorded.tensors),
    get,
    origin: (name) => (recorded.tensors[name].how ? "derived" : "recorded"),
    labels: (name, axis) => labelsAlong(recorded, recorded.tensors[name], name, axis),
    parameter: (name) => model.parameters.get(name) ?? null,
    best: async (row, count) => mostProbable(model, await get("decoder.probabilities"), row, count),
  };
};

const readTensor = async (tensors, name) => {
  if (!(name in tensors)) throw new Error(noSuchName(name, Object.keys(tensors)));
  const { axes, shape, ...place } = tensors[name];
  return makeTensor(axes, shape, numbersIn(await openBlock(place.block), place, sizeOfShape(shape)));
};

/** The words along an axis: tokens for L and M, words for V, numbers for the others. */
const labelsAlong = (run, { axes, shape }, name, axis) => {
  const place = axes.indexOf(axis);
  if (place < 0) throw new Error(`${name} has no axis "${axis}". Its axes are ${axes}.`);
  const tokens = { L: tokensOf(run, name), M: name.includes(".cross_attention.") ? run.source : tokensOf(run, name) }[axis];
  if (tokens?.length === shape[place]) return tokens;
  const words = axis === "V" ? page.models[run.model].vocabulary.target : [];
  return words.length === shape[place] ? words : Array.from({ length: shape[place] }, (_, index) => String(index));
};

const tokensOf = (run, name) => (name.startsWith("encoder") ? run.source : run.target);

/** The most probable tokens of a row, the best first; of equals, the lower id. */
const mostProbable = (model, probabilities, row, count) => {
  const size = probabilities.shape[2];
  const numbers = probabilities.data.subarray(row * size, (row + 1) * size);
  const ids = Array.from(numbers.keys()).sort((a, b) => numbers[b] - numbers[a] || a - b);
  return ids.slice(0, count).map((id) => ({ token: model.vocabulary.target[id], probability: numbers[id] }));
};

const noSuchName = (name, known) => {
  const near = closeMatches(name, known, 3, 0.5);
  return `no tensor is called "${name}".${near.length ? ` Nearest: ${near.join(", ")}.` : ""}`;
};
