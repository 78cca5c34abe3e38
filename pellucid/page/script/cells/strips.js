// Above a cell's sum, draw the row and the column that the cell was computed from as coloured strips, with each number
// above the number that it is multiplied by. A strip is {symbol, label, role, numbers, scale, sign (before the strip)}.

import { element, withScripts, words, wordsOf } from "../base/elements.js";
import { fourDecimals } from "../base/numbers.js";
import { depthOf, scaleOf, shadeOf } from "../matrices/scales.js";

/** Return the strips of a sum of products: the row, the column, and their products. */
export const productStrips = (terms, left, right, role) => {
  const products = terms.filter(({ numbers }) => numbers[0] !== null); // without the bias
  const values = products.map(({ value }) => value);
  return [
    { ...left, numbers: products.map(({ numbers }) => numbers[0]) },
    { sign: "·", ...right, numbers: products.map(({ numbers }) => numbers[1]) },
    { sign: "=", label: "their products", role, numbers: values, scale: scaleOf("numbers", { data: values }) },
  ];
};

/** Return the strips of a softmax: a row of scores, their exponentials, and the weights, one of which is chosen. */
export const softmaxStrips = (terms, scores, chosen) => {
  const strip = (label, numbers) => ({ sign: "→", label, role: "w", numbers, scale: scaleOf("weights") });
  const [powers, shares] = [terms.map(({ value }) => value), terms.map(({ after }) => after)];
  return [
    { role: "w", numbers: terms.map(({ numbers }) => numbers[0]), ...scores },
    strip("exp(x − max)", powers),
    { ...strip("exp ÷ Σ", shares), chosen },
  ];
};

/** Make an element with the strips of a making; null if it has none, or if a number is unknown. */
export const stripsOfMaking = ({ strips, missing }) => {
  if (!strips.length || missing) return null;
  const { labels = [] } = strips[0];
  const names = element("span.strip-cells.names", wordsOf(labels));
  return element("div.strips", { role: "group", "aria-label": "what it was made from" }, [
    labels.length > 0 &&
      labels.length <= 12 &&
      element("div.strip-line", { "aria-hidden": "true" }, element("span"), names),
    strips.map(stripElement),
  ]);
};

const stripElement = ({ sign = "", symbol, label, role, numbers, scale, chosen }) => {
  const cell = (number, place) => {
    const { class: shade, ...level } = shadeOf(depthOf(scale, number));
    return element("i", { class: place === chosen ? `${shade} chosen` : shade, title: fourDecimals(number), ...level });
  };
  const name = [element("span.strip-sign", sign), symbol && element("b.symbol", withScripts(symbol)), words(label)];
  return element(`div.strip-line.role-${role}`, [
    element("span.strip-name", name),
    element("span.strip-cells", { role: "img", "aria-label": numbers.map(fourDecimals).join(", ") }, numbers.map(cell)),
  ]);
};
