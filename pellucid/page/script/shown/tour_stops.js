// The stops of the tour, in the order in which a decoder is usually taught. A stop is a view of this page, a few
// sentences with this page's own numbers, and one thing to try.

import { chip, withScripts } from "../base/elements.js";
import { fourDecimals, inExponents, largestCell, panelOf, panelsOf } from "../base/numbers.js";
import { meaningOf } from "../words/tokens.js";
import { lastCrossOf } from "../runs/parts.js";
import { comparedInTime } from "../runs/stepping.js";

const firstSelf = "decoder.layers.0.self_attention";
const firstEncoder = "encoder.layers.0.self_attention.weights";

/** The cell that shows most, over all heads: {head, row, column, value}; `isMeant(row, column)` says which may. */
const tellingCell = async (run, name, isMeant) => {
  const panels = panelsOf(await run.get(name));
  return largestCell(panels, isMeant) ?? { head: 0, row: 0, column: 0, value: panels[0].at(0, 0) };
};

const isAhead = (row, column) => column > row;
const isBehind = (row, column) => column < row;

/** That cell, as a state. */
const toCell = (name, isMeant) => async (run) => stateOfCell(await tellingCell(run, name, isMeant));
const stateOfCell = ({ head, row, column }) => ({ head, row, column });

/** Where the last cross-attention is surest about a word of the sentence. */
const surest = (run) => {
  const isWord = (row, column) => !meaningOf(run.source[column]) && !meaningOf(run.expected[row]);
  return tellingCell(run, `${lastCrossOf(run)}.weights`, isWord);
};

/** What tensors have in their first cell, or in one of a head, as text. */
const numbersAt = async (run, names, { head = 0, row = 0, column = 0 } = {}) => {
  const tensors = await Promise.all(names.map(run.get));
  return tensors.map((tensor) => fourDecimals(panelOf(tensor, head).at(row, column)));
};

/** "a, b and c", each set apart. */
const listed = (tokens) =>
  tokens.flatMap((token, place) => [place === 0 ? "" : place === tokens.length - 1 ? " and " : ", ", chip(token)]);

/** How far all at once is from step by step, or why this page cannot say. */
const differenceInTime = async (run) => {
  try {
    const { difference } = await comparedInTime(run, true);
    return `The largest difference between the two ways here: ${inExponents(difference)}.`;
  } catch {
    return "This page holds a recording and cannot decode it again to show that the numbers are the same.";
  }
};

/** The second row, the first with a row before it; the only row of a single token. */
const secondOf = (tokens) => Math.min(1, tokens.length - 1);

/** A text with tokens and numbers in it, as a list of its parts. */
const says = (texts, ...parts) => texts.flatMap((text, place) => [text.replace(/\s+/g, " "), parts[place] ?? ""]);
const toSecondStep = (run) => ({ mode: "step", position: secondOf(run.target) });

export const TOUR = [
  {
    title: "Tokens, and the shift",
    tensor: "",
    text: (run) => says`The encoder reads the source: ${listed(run.source)}. The decoder reads the target, shifted right
      by one: ${listed(run.target)}. At each position it is to say the token that comes next: ${listed(run.expected)}.`,
    trial: { label: "Look at the last position", changes: (run) => ({ position: run.target.length - 1 }) },
  },
  {
    title: "Embedding and positions",
    tensor: "encoder.embedded",
    text: ({ config }) => {
      const { width, vocabulary, scale_embeddings: isScaled } = config;
      return says`A token’s vector is its row of a table of
        ${vocabulary} × ${width} numbers${isScaled ? `, times √${width} = ${fourDecimals(Math.sqrt(width))}` : ""}: to
        look a row up is to multiply a one-hot row with the table. Attention alone does not know which token comes first,
        so sines and cosines of the position are added.`;
    },
    trial: { label: "See the positions alone", tensor: "encoder.positions" },
  },
  {
    title: "The encoder’s self-attention has no mask",
    tensor: firstEncoder,
    changes: toCell(firstEncoder, isAhead),
    text: async (run) => {
      const { head, row, column, value } = await tellingCell(run, firstEncoder, isAhead);
      return says`Every source token asks every other, those after it too: in head ${head}, ${chip(run.source[row])} gives
        ${chip(run.source[column])}, which comes later, a weight of ${fourDecimals(value)}. The weights of a row add up to 1.`;
    },
    trial: {
      label: "Another head",
      changes: async (run) => {
        const { head } = await tellingCell(run, firstEncoder, isAhead);
        return { head: (head + 1) % run.config.heads };
      },
    },
  },
  {
    title: "The memory",
    tensor: "encoder.output",
    text: (run) => says`What leaves the encoder is called the memory: ${run.source.length} × ${run.config.width}, one
      vector for each source token, not one for the whole sentence. Each decoder layer makes keys and values of its own
      from it.`,
    trial: { label: "See the keys that the first layer makes", tensor: "decoder.layers.0.cross_attention.keys" },
  },
  {
    title: "Queries, keys and values",
    tensor: `${firstSelf}.queries`,
    text: ({ config: { width, heads }, target }) => {
      const [q, k, v] = ["Q", "K", "V"].map((role) => withScripts(`W<sup>${role}</sup>`));
      const each = heads === 1 ? "the one head has all" : `each of the ${heads} heads has ${width / heads}`;
      return says`In the decoder’s first layer each position makes three vectors: its query, X · ${q}, asks; its key,
        X · ${k}, is asked; its value, X · ${v}, is what it gives. (${target.length}×${width})·(${width}×${width}), of
        which ${each} columns.`;
    },
    trial: { label: "How its first number is made", changes: () => ({ row: 0, column: 0 }) },
  },
  {
    title: "Scores, and their scale",
    tensor: `${firstSelf}.scores`,
    changes: toCell(`${firstSelf}.scores`, isBehind),
    text: async (run) => {
      const cell = await tellingCell(run, `${firstSelf}.scores`, isBehind);
      const names = ["scores", "scaled_scores"].map((last) => `${firstSelf}.${last}`);
      const [before, after] = await numbersAt(run, names, cell);
      const root = fourDecimals(Math.sqrt(run.config.width / run.config.heads));
      return says`A score is the dot product of a query and a key: in head ${cell.head}, ${chip(run.target[cell.row])} asks
        ${chip(run.target[cell.column])} and gets ${before}. Divided by ${withScripts("√d<sub>k</sub>")} = ${root} it is
        ${after}. Without this, longer vectors make larger scores, and the softmax gives nearly everything to one token.`;
    },
    trial: { label: "Take the scale away", switches: { scale: false }, tensor: `${firstSelf}.weights` },
  },
  {
    title: "The mask",
    tensor: `${firstSelf}.mask`,
    changes: (run) => ({ row: 0, column: run.target.length - 1 }),
    text: ({
      target: { length },
    }) => says`In training all positions are computed at once, so each could see the word that
      it is to predict. The mask forbids it: to ${(length * (length - 1)) / 2} of the ${length * length} scores it adds −∞.
      A position sees itself and what precedes it.`,
    trial: { label: "Lift the mask, and see the leak", switches: { causal: false }, tensor: `${firstSelf}.weights` },
  },
  {
    title: "Softmax, and the context",
    tensor: `${firstSelf}.weights`,
    changes: toCell(`${firstSelf}.weights`, isBehind),
    text: async (run) => {
      const { head, row, column, value } = await tellingCell(run, `${firstSelf}.weights`, isBehind);
      return says`Softmax takes exp of each score and divides by the row’s sum: the weights. In head ${head},
        ${chip(run.target[row])} gives ${chip(run.target[column])} ${fourDecimals(value)}; what the mask forbids gets
        exactly 0. The context is the rows of V, each times its weight, added up. The first position has only itself: its context is the first row of V.`;
    },
    trial: {
      label: "How a number of the context is made",
      tensor: `${firstSelf}.context`,
      changes: (run) => ({ row: secondOf(run.target), column: 0 }),
    },
  },
  {
    title: "Heads, side by side and mixed",
    tensor: `${firstSelf}.concatenated`,
    text: ({ config: { heads, width }, target }) => {
      const beside = `${heads} heads have done this side by side. Their contexts, next to each other, are`;
      return says`${heads === 1 ? "The one head’s context is" : beside} one matrix of ${target.length} × ${width} again,
        and ${withScripts("W<sup>O</sup>")}, multiplied from the right, mixes its columns.`;
    },
    trial: {
      label: "Silence head 0 of this layer",
      switches: { silent: { [firstSelf]: [0] } },
      tensor: `${firstSelf}.concatenated`,
    },
  },
  {
    title: "Add & Norm",
    tensor: "decoder.layers.0.residual_1.sum",
    text: async (run) => {
      const names = ["mean", "variance"].map((last) => `decoder.layers.0.residual_1.norm.${last}`);
      const [mean, variance] = await numbersAt(run, names);
      return says`What attention found is added to what came in, so that nothing is lost on the way. LayerNorm brings each
        position’s vector to mean 0 and variance 1 (the first has mean ${mean} and variance ${variance} before), then
        multiplies by a weight and adds a bias.`;
    },
    trial: {
      label: "Take all residuals away",
      switches: { residual: false },
      tensor: "decoder.layers.0.residual_1.sum",
    },
  },
  {
    title: "Cross-attention: the decoder asks the source",
    tensor: (run) => `${lastCrossOf(run)}.weights`,
    changes: async (run) => stateOfCell(await surest(run)),
    text: async (run) => {
      const { head, row, column, value } = await surest(run);
      return says`Queries come from the decoder, keys and values from the memory, so the weights are
        ${run.target.length} × ${run.source.length}, target × source. Before it says ${chip(run.expected[row])}, head ${head}
        of the last layer gives ${chip(run.source[column])} ${fourDecimals(value)}. At every step K and V are the same.`;
    },
    trial: { label: "See it in time: the second step", changes: toSecondStep },
  },
  {
    title: "From a vector to a word",
    tensor: "decoder.probabilities",
    text: ({ config: { width, hidden }, expected, steps }) => says`The feed-forward takes each vector from ${width} to
      ${hidden} numbers and back. After the last layer one more matrix gives every token of the vocabulary a number, the
      logit, and softmax makes probabilities of them. The first word, ${chip(expected[0])}, has
      ${fourDecimals(steps[0].probability)}.`,
    trial: { label: "See the logits before the softmax", tensor: "decoder.logits" },
  },
  {
    title: "Feed it back: the next step",
    tensor: `${firstSelf}.weights`,
    changes: toSecondStep,
    text: (
      run,
    ) => says`${chip(run.expected[0])} was said, so it goes in again, and one new row is computed. The keys and
      values of the positions before it are remembered: that is the cache. Without it, all rows so far are computed again,
      with the same numbers.`,
    trial: { label: "Without the cache", changes: () => ({ cached: false }) },
  },
  {
    title: "Training: all steps at once, the same numbers",
    tensor: `${firstSelf}.weights`,
    text: async (run) => says`In training the right words are known and go in together: teacher forcing. Because of the
      mask, row t sees what step t saw. ${await differenceInTime(run)} Step by step this sentence takes
      ${run.target.length === 1 ? "1 pass" : `${run.target.length} passes`} through the decoder, in training one.`,
    trial: { label: "Back to the whole model", tensor: "" },
  },
];
