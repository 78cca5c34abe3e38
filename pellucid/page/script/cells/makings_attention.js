// How the cells of products are made, and what an attention does between them: scale, mask, softmax, heads.

import { columnOfPanel, fourDecimals, numbered, panelOf, rowOfPanel } from "../base/numbers.js";
import { quoted } from "../base/text.js";
import { productBehind, weightPanel } from "../runs/lineage.js";
import { isDecoderSelf, sibling } from "../runs/parts.js";
import { captionOfTensor } from "../runs/runs.js";
import { isMeant } from "../runs/switches.js";
import { columnsOf } from "../runs/worked.js";
import { plainNumber, scaleOf } from "../matrices/scales.js";
import { inSum, productTerms, sumOfTerms } from "./making.js";
import { softmaxMaking } from "./softmax_steps.js";
import { columnOfTensor, productStrips, rowOfTensor, softmaxStrips } from "./strips.js";

export const BEST_WORDS = 20; // of a vocabulary are shown, in a plate and in a sum over all of it

/** The numbers of a tensor, of one head where it has several. */
const panelOfHead = async (run, name, head) => {
  const tensor = await run.get(name);
  return panelOf(tensor, tensor.axes.includes("H") ? head : 0);
};

/** The panels of all tensors that a cell's tensor is made of. */
export const sourcePanels = ({ run, of, head }) => Promise.all(of.map((name) => panelOfHead(run, name, head)));

export const notCarried = (name) =>
  `The model has more parameters than a page can carry, so ${name} is not here: this is the number that the pass recorded`;

/** A cell of x · W + b; where the page has no weights, its shapes, and why. */
export const linearCell = async (cell) => {
  const { run, name, head, row, column, tensor, panel, labels, caption } = cell;
  const product = await productBehind(run, name, head);
  if (!product) return headSlice(cell);
  const equation = run.given ? caption.equation.replace(/ \+ b<sup>.<\/sup>/, "") : caption.equation; // on paper, no bias
  const { x, xTensor, weight, bias, weightName, columns } = product;
  const inputs = xTensor.shape.at(-1);
  if (!weight) {
    const width = tensor.kept?.size ?? panel.columns;
    const shapes = `(${xTensor.shape.at(-2)}×${inputs})·(${inputs}×${width}) = (${panel.rows}×${width})`;
    const note = `${shapes}. ${notCarried(weightName)}, the sum of ${inputs} products with ${x}.`;
    return { equation, total: panel.at(row, column), missing: true, note };
  }
  const reads = rowOfPanel(panelOf(xTensor), row);
  const weights = columnOfPanel(weightPanel(product, panel.columns), column);
  const terms = productTerms(numbered(inputs), reads, weights);
  const strips = productStrips(
    { symbol: "X", role: "x", label: labels.rows[row], numbers: reads, scale: scaleOf("numbers", xTensor), of: x },
    {
      symbol: "W",
      role: caption.role,
      label: `column ${column}`,
      numbers: weights,
      scale: scaleOf("numbers", weight),
      of: `${weightName}|${columns}`,
    },
    caption.role,
  );
  if (bias)
    terms.push({ label: "bias", numbers: [null, bias.data[columns + column]], value: bias.data[columns + column] });
  // The state_dict keeps a matrix out × in: what is a column on paper is a row of it.
  const stored = run.given
    ? `column ${columns + column} of ${weightName}`
    : `row ${columns + column} of ${weightName}, stored out × in`;
  const note = `The row of ${quoted(labels.rows[row])} in ${x}, times W’s column ${column} (${stored})${bias ? ", plus its bias" : ""}.`;
  return { equation, terms, strips, headings: ["dimension", "x", "W", "x · W"], total: sumOfTerms(terms), note };
};

/** Without a W (a worked example may leave it out) a head takes its slice of the columns. */
const headSlice = ({ run, name, head, row, column, panel }) => {
  const { matrix, source } = run.given.projections[name];
  const from = (head * columnsOf(matrix)) / run.given.heads + column;
  const slice = panel.columns < columnsOf(matrix) ? ", a slice for each head" : "";
  return {
    equation: `${name} = ${source}`,
    total: matrix[row][from],
    steps: { [`${source}, column ${from}`]: matrix[row][from] },
    note: `No W is given: ${name} are the ${source} themselves${slice}.`,
  };
};

/** A product of two matrices: a score is a query times a key, a context the values' column times the row of weights. */
export const productCell = async (cell) => {
  const { run, head, row, column, labels, caption, of } = cell;
  if (isSilenced(cell)) return silentCell("contexts");
  const isScore = caption.role === "w";
  const [first, second] = of.map(captionOfTensor);
  const left = await rowOfTensor(run, of[0], head, row);
  const right = await (isScore ? rowOfTensor : columnOfTensor)(run, of[1], head, column);
  const summed = isScore ? numbered(left.numbers.length) : run.labels(of[0], "M");
  const [who, whom] = [labels.rows[row], labels.columns[column]];
  const terms = productTerms(summed, left.numbers, right.numbers);
  return {
    equation: caption.equation,
    terms,
    strips: productStrips(
      { ...left, symbol: first.symbol, role: first.role, label: who, labels: isScore ? [] : summed },
      {
        ...right,
        symbol: isScore ? "K<sup>T</sup>" : second.symbol,
        role: second.role,
        label: isScore ? whom : `column ${column}`,
      },
      caption.role,
    ),
    headings: isScore
      ? ["dimension", `Q of ${who}`, `K of ${whom}`, "Q · K"]
      : ["attended to", "weight", "V", "weight · V"],
    total: sumOfTerms(terms),
    weighted: !isScore,
    note: isScore
      ? `The query of ${quoted(who)} times the key of ${quoted(whom)}: the more alike, the higher.`
      : `${quoted(who)} takes of each value as much as its weight says, and adds it up.`,
  };
};

export const scaledCell = async (cell) => {
  const { run, name, path, row, column, panel } = cell;
  const score = (await sourcePanels(cell))[0].at(row, column);
  const { divisor, words: said } = await divisorOfRun(run, name, path);
  const given = plainNumber(divisor);
  const total = score / divisor;
  const why = `Divided by ${said}${said === given ? "" : ` = ${given}`}, so that longer queries and keys do not make the softmax sharper. The same for all ${panel.rows * panel.columns} cells.`;
  return {
    equation: `Q · K<sup>T</sup> ÷ ${said}`,
    total,
    filled: `${inSum(score)} ÷ ${given} = ${fourDecimals(total)}`,
    steps: { score, [`÷ ${said}`]: divisor, "scaled score": total },
    note: divisor === 1 ? "The scale is off: the score goes on as it is." : why,
  };
};

/** What divides the scores, and how one writes it. */
export const divisorOfRun = async (run, name, path) => {
  if (run.given) return { divisor: run.given.divisor ?? 1, words: plainNumber(run.given.divisor ?? 1) };
  if (run.switches?.scale === false && isMeant(run.switches, path)) return { divisor: 1, words: "1" };
  const width = (await run.get(sibling(name, "queries"))).shape.at(-1);
  return { divisor: Math.sqrt(width), words: `√${width}` };
};

export const maskCell = ({ path, panel, row, column, labels, caption }) => {
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
  return { equation: caption.equation, total: value, note: value === 0 ? allowed : forbidden };
};

/** A share of a row of scores, or of the vocabulary's logits. */
export const softmaxCell = async (cell) => {
  const { run, head, row, column, labels, tensor, of } = cell;
  if (tensor.kept) return keptShareCell(cell);
  if (isSilenced(cell)) return silentCell("weights");
  const scores = await rowOfTensor(run, of[0], head, row);
  if (cell.last === "probabilities") {
    const words = {
      headings: ["word", "logit x"],
      said: `logit of ${labels.columns[column]}`,
      over: "Σ over the vocabulary",
    };
    const note = `After ${quoted(labels.rows[row])}: all ${scores.numbers.length} words share a whole 1.`;
    return { ...softmaxMaking(scores.numbers, column, { labels: labels.columns, best: BEST_WORDS, ...words }), note };
  }
  const words = { headings: ["attended to", "x, masked score"], said: "x, the masked score", over: "Σ of the row" };
  return {
    ...softmaxMaking(scores.numbers, column, { labels: labels.columns, ...words }),
    strips: softmaxStrips({ ...scores, symbol: "S", label: labels.rows[row], labels: labels.columns }, column),
    note: `The weights of ${quoted(labels.rows[row])} add up to 1, over all that it looks at.`,
  };
};

/** Of a big vocabulary the page has the best words, and the logarithm of the sum over all. */
const keptShareCell = async (cell) => {
  const {
    row,
    column,
    labels,
    tensor: { kept },
  } = cell;
  const x = (await sourcePanels(cell))[0].at(row, column);
  const all = kept.log_sum_exp[row];
  const total = Math.exp(x - all);
  return {
    equation: "exp(x − log Σ exp)",
    total,
    filled: `exp(${inSum(x)} − ${inSum(all)}) = ${fourDecimals(total)}`,
    steps: {
      [`logit of ${labels.columns[column]}`]: x,
      "log Σ exp, over the vocabulary": all,
      "exp(x − log Σ exp)": total,
    },
    note: `After ${quoted(labels.rows[row])}: all ${kept.size} words share a whole 1. The page has the best of them, and the sum over all.`,
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

/** The concatenated heads: a column belongs to one head. */
export const concatenatedCell = async ({ run, of, row, column, caption }) => {
  const context = await run.get(of[0]);
  const width = context.shape.at(-1);
  const head = Math.floor(column / width);
  const value = panelOf(context, head).at(row, column % width);
  return {
    equation: caption.equation,
    total: value,
    steps: { [`context of head ${head}, dimension ${column % width}`]: value },
    note: `Column ${column} belongs to head ${head}: each head has ${width} columns. Nothing is computed here.`,
  };
};
