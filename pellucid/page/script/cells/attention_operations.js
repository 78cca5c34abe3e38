// Explain one cell of an attention's tensors: products, scale, mask, softmax, and the concatenated heads.

import { columnOfPanel, numbered, panelOf, rowOfPanel } from "../base/numbers.js";
import { quoted, tokenName } from "../base/tokens.js";
import { weightPanel } from "../runs/lineage.js";
import { isDecoderSelf, splitName } from "../runs/parts.js";
import { isMeant } from "../runs/switches.js";
import { plainNumber, scaleOf } from "../matrices/scales.js";
import { productStrips, softmaxStrips } from "./strips.js";
import { inSum, productTerms, softmaxMaking, sumOfTerms } from "./terms.js";

const BEST_WORDS = 20; // the number of words that a softmax over the vocabulary lists one by one

/** Return each operand's number at the cell's position; an operand with one column has one number for the row. */
export const numbersHere = ({ of, row, column }) =>
  of.map(({ panel }) => panel.at(row, Math.min(column, panel.columns - 1)));

/** Explain a cell that cannot be computed again, because the page does not contain this parameter. */
export const notCarried = (name, { before = "", after = "" } = {}) => ({
  missing: true,
  note: `${before}The model has more parameters than a page can carry, so ${name} is not here: this is the number that the pass recorded${after}.`,
});

/** Explain a cell of x · W + b; if the page has no weights, show the shapes and the reason. */
const linearCell = (cell) => {
  const { run, row, column, tensor, panel, labels, caption, product } = cell;
  if (!product) return sliceOfHead(cell);
  const [x] = cell.of;
  const { weight, bias, weightName, columns } = product;
  const inputs = x.panel.columns;
  if (!weight) {
    const width = tensor.kept?.size ?? panel.columns;
    const before = `(${x.panel.rows}×${inputs})·(${inputs}×${width}) = (${panel.rows}×${width}). `;
    return notCarried(weightName, { before, after: `, the sum of ${inputs} products with ${x.name}` });
  }
  const weights = columnOfPanel(weightPanel(product, panel.columns), column);
  const place = columns + column;
  const terms = productTerms(numbered(inputs), rowOfPanel(x.panel, row), weights);
  if (bias) terms.push({ label: "bias", numbers: [null, bias.data[place]], value: bias.data[place] });
  const read = ["encoder.output", "memory"].includes(x.name) ? "Y" : "X"; // the input of K and V
  const symbol = splitName(x.name).last === "concatenated" ? x.caption.symbol : read;
  const left = { symbol, role: x.caption.role, label: labels.rows[row], scale: x.scale };
  const right = { symbol: "W", role: caption.role, label: `column ${column}`, scale: scaleOf("numbers", weight) };
  // The state_dict stores a matrix as out × in: a column of W in the paper is a row there.
  const stored = run.isWorked ? `column ${place} of ${weightName}` : `row ${place} of ${weightName}, stored out × in`;
  return {
    equation: caption.equation.replace("Y", read).replace(bias ? "" : / \+ b<su[bp]>.<\/su[bp]>/, ""),
    terms,
    strips: productStrips(terms, left, right, caption.role),
    headings: ["dimension", "x", "W", "x · W"],
    total: sumOfTerms(terms),
    note: `The row of ${quoted(labels.rows[row])} in ${x.name}, times W’s column ${column} (${stored})${bias ? ", plus its bias" : ""}.`,
  };
};

/** Explain a cell if there is no W (a worked example may omit it): a head takes its slice of the columns. */
const sliceOfHead = ({ name, head, row, column, panel, of }) => {
  const [x] = of;
  const from = head * panel.columns + column;
  const slice = panel.columns < x.panel.columns ? ", a slice for each head" : "";
  return {
    equation: `${name} = ${x.name}`,
    total: x.panel.at(row, from),
    written: `${x.name}, column ${from}`,
    note: `No W is given: ${name} are the ${x.name} themselves${slice}.`,
  };
};

/** Explain a cell of a matrix product: a score (query times key), or a context (row of weights times column of V). */
const productCell = (cell) => {
  const { run, row, column, labels, caption, of } = cell;
  if (isSilenced(cell)) return silentCell("contexts");
  const isScore = caption.role === "w";
  const [who, whom] = [labels.rows[row], labels.columns[column]];
  const left = rowOfPanel(of[0].panel, row);
  const right = isScore ? rowOfPanel(of[1].panel, column) : columnOfPanel(of[1].panel, column);
  const summed = isScore ? numbered(left.length) : run.labels(of[0].name, "M");
  const terms = productTerms(summed, left, right);
  const [one, other] = of.map(({ caption: { symbol, role }, scale }) => ({ symbol, role, scale }));
  const strips = isScore
    ? [one, { ...other, symbol: "K<sup>T</sup>", label: whom }]
    : [
        { ...one, labels: summed },
        { ...other, label: `column ${column}` },
      ];
  const headings = ["dimension", `Q of ${tokenName(who)}`, `K of ${tokenName(whom)}`, "Q · K"];
  return {
    terms,
    strips: productStrips(terms, { label: who, ...strips[0] }, strips[1], caption.role),
    headings: isScore ? headings : ["attended to", "weight", "V", "weight · V"],
    total: sumOfTerms(terms),
  };
};

const scaleCell = (cell) => {
  const { run, path, panel } = cell;
  const [score] = numbersHere(cell);
  const { divisor, words } = divisorOfRun(run, path);
  const given = plainNumber(divisor);
  const why = `Divided by ${words}${words === given ? "" : ` = ${given}`}, so that longer queries and keys do not make the softmax sharper. The same for all ${panel.rows * panel.columns} cells.`;
  return {
    equation: `Q · K<sup>T</sup> ÷ ${words}`,
    total: score / divisor,
    written: `${inSum(score)} ÷ ${given}`,
    note: divisor === 1 ? "The scale is off: the score goes on as it is." : why,
  };
};

/** Return the number that divides the scores, and the text that shows it. */
export const divisorOfRun = ({ config, switches }, path) => {
  if (config.divisor) return { divisor: config.divisor, words: plainNumber(config.divisor) }; // a worked example's
  if (switches?.scale === false && isMeant(switches, path)) return { divisor: 1, words: "1" };
  const width = config.width / config.heads;
  return { divisor: Math.sqrt(width), words: `√${width}` };
};

const maskCell = ({ path, panel, row, column, labels }) => {
  const value = panel.at(row, column);
  const [asks, asked] = [labels.rows[row], labels.columns[column]].map(quoted);
  const own = isDecoderSelf(path);
  const isLater = column > row && (own || path === "");
  const forbidden = isLater
    ? `${asked} comes after ${asks}, which must not see what it is asked to predict: −∞ leaves its weight exactly 0.`
    : `${asks} may not look at ${asked}: −∞ leaves its weight exactly 0.`;
  const allowed =
    own && isLater
      ? `The mask is lifted: ${asks} sees ${asked}, which comes after it.`
      : `${asks} may look at ${asked}: 0 changes nothing.`;
  return { total: value, note: value === 0 ? allowed : forbidden };
};

/** Explain a cell of a softmax: over a row of scores, or over the logits of the vocabulary. */
const softmaxCell = (cell) => {
  const { row, column, labels, tensor } = cell;
  const [x] = cell.of;
  if (tensor.kept) return keptShareCell(cell);
  if (isSilenced(cell)) return silentCell("weights");
  const numbers = rowOfPanel(x.panel, row);
  if (cell.last === "probabilities") {
    const note = `After ${quoted(labels.rows[row])}: all ${numbers.length} words share a whole 1.`;
    return { ...softmaxMaking(numbers, column, labels.columns, ["word", "logit x"], BEST_WORDS), note };
  }
  const making = softmaxMaking(numbers, column, labels.columns, ["attended to", "x, masked score"]);
  const scores = { scale: x.scale, symbol: x.caption.symbol, label: labels.rows[row], labels: labels.columns };
  return { ...making, strips: softmaxStrips(making.terms, scores, column) };
};

/** Explain a probability of a large vocabulary: the page has its best words and the log of the sum over all words. */
const keptShareCell = (cell) => {
  const { row, column, labels } = cell;
  const { kept } = cell.tensor;
  const [x] = numbersHere(cell);
  const all = kept.log_sum_exp[row];
  return {
    equation: "exp(x − log Σ exp)",
    total: Math.exp(x - all),
    written: `exp(${inSum(x)} − ${inSum(all)})`,
    note: `After ${quoted(labels.rows[row])}, of ${quoted(labels.columns[column])}: all ${kept.size} words share a whole 1. The page has the best of them, and the sum over all.`,
  };
};

export const isSilent = (run, path, head) => run.switches?.silent?.[path]?.includes(head) ?? false;

const isSilenced = ({ run, path, head, row, column, panel }) =>
  isSilent(run, path, head) && panel.at(row, column) === 0;

const silentCell = (what) => ({
  equation: "switched off",
  total: 0,
  note: `This head is silenced: its ${what} are set to 0.`,
});

/** Explain a cell of the concatenated heads: each column comes from one head. */
const concatenateCell = ({ of: [context], row, column }) => {
  const width = context.panel.columns;
  const [head, dimension] = [Math.floor(column / width), column % width];
  const total = panelOf(context.tensor, head).at(row, dimension);
  return { total, written: `context of head ${head}, dimension ${dimension}` };
};

export const ATTENTION_OPERATIONS = {
  linear: linearCell,
  product: productCell,
  scale: scaleCell,
  mask: maskCell,
  softmax: softmaxCell,
  concatenate: concatenateCell,
};
