// Runs that a server makes, of a model of any size: it computes the pass, and gives the numbers of a part when the page
// shows it.

import { makeTensor, sizeOfShape } from "../base/numbers.js";
import { ask } from "../base/asking.js";
import { found } from "../base/elements.js";
import { page } from "../base/page.js";
import { madeOnce, madeOnceOf } from "../base/text.js";
import { openVocabulary } from "../words/vocabulary.js";
import { splitName } from "./parts.js";
import { numbersIn, openRun, unpack } from "./recorded.js";
import { UNSWITCHED, editsOf } from "./switches.js";

const tell = (text) => found("fault").replaceChildren(text);
let askFor = (question) => ask("v1/explain", question, { tell });

/** Ask in another way than through HTTP. way: takes a question, and a function that tells the reader what to wait for. */
export const askThrough = (way) => (askFor = (question) => way(question, tell));

/** Open the page with the sentence of its header or of the address, ?text=…&source=en&target=hi&translation=…; return it.
 *  If the model cannot read the sentence, say why and return null. */
export const openServed = async () => {
  page.header = JSON.parse(document.getElementById("payload").textContent);
  const { text = "Hello.", translation = null } = addressed();
  try {
    page.runs = [await explain(text, null, translation)];
    return page;
  } catch (error) {
    found("fault").textContent = error.message;
    return null;
  }
};

const addressed = () => page.header.asked ?? Object.fromEntries(new URLSearchParams(location.search));

/** Return the run of a sentence, and of its translation or of a given target. */
const explain = (text, to, target) => served({ ...sentenceOf(text, to), ...(target && { translation: target }) });

/** The maker of a model that a server has. */
const serving = {
  explain,

  again: (run, { text, to, translation, forced, expected }, switches) =>
    served({ ...sentenceOf(text, to), translation: expected, edits: editsOf(run, switches) }, (sentence) => ({
      text,
      translation,
      forced,
      switches,
      sentence: { ...sentence, text, translation, forced },
    })),

  anew: async (run) => {
    const { text, to } = run.sentence;
    return (await askFor({ ...sentenceOf(text, to), edits: editsOf(run, run.switches) })).target;
  },

  instead: async (run, position, rank) => {
    const { text, to, expected } = run.sentence;
    const id = run.shapes["decoder.probabilities"].kept.ids[position][rank];
    return (await askFor({ ...sentenceOf(text, to), prefix: [...expected.slice(0, position), id] })).target;
  },
};

/** Return what the server needs to know of a sentence. The language of the source is that of the address, or the only
 *  one from which the model translates to this target; otherwise the server detects it. */
const sentenceOf = (text, to) => {
  const { source, target } = addressed();
  const asked = to ?? target;
  const languages = page.models[0]?.vocabulary.languages ?? [];
  const sources = languages.filter(([, each]) => each === asked).map(([each]) => each);
  const from =
    asked === target && (sources.includes(source) || !sources.length) ? source : sources.length === 1 && sources[0];
  return { text, target: asked, ...(from && { source: from }) };
};

/** Ask for a run. about: returns what of the run differs from the answer, given its sentence. */
const served = async (question, about = () => ({})) => {
  const { models, runs, blocks, ...header } = await askFor({ ...question, page: true });
  Object.assign(page.header, header);
  const [model] = (page.models = page.models.length ? page.models : [modelOfServer(models[0])]);
  const reader = readerOfServer(runs[0], blocks, { ...question, translation: runs[0].target_ids });
  const run = openRun(runs[0], model, reader);
  return { ...run, switches: UNSWITCHED, ...about(run.sentence) };
};

const modelOfServer = (model) => ({
  ...model,
  maker: serving,
  parameters: new Map(),
  vocabulary: openVocabulary(model.vocabulary, model.config),
});

const openIn = (blocks, name) => madeOnceOf(blocks, name, () => unpack(blocks[name]));

/** Return functions that read the tensors of a run. The server gives those of one module together, once. */
const readerOfServer = ({ tensors }, blocks, question) => {
  const asked = new Map();
  const numbersAt = async ({ axes, shape, block, kept = null, ...place }, packed) => ({
    ...makeTensor(axes, shape, numbersIn(await openIn(packed, block), place, sizeOfShape(shape))),
    ...(kept && { kept }),
  });
  const get = async (name) => {
    if ("block" in tensors[name]) return numbersAt(tensors[name], blocks);
    const { path } = splitName(name);
    const together = Object.keys(tensors).filter((each) => splitName(each).path === path && !tensors[each].kept);
    const answer = madeOnce(asked, path, () => askFor({ ...question, tensors: together, page: true }));
    answer.catch(() => asked.delete(path));
    const { runs, blocks: packed } = await answer;
    return numbersAt(runs[0].tensors[name], packed);
  };
  return { get, origin: () => "served" };
};
