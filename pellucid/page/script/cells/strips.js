// What a cell was made from, drawn again above its sum: the row and the column as strips of colour, each number above
// the one it meets. A strip: {symbol, label, role, numbers, scale, sign before it}.

import { element, withScripts, words, wordsOf } from "../base/elements.js";
import { fourDecimals } from "../base/numbers.js";
import { depthOf, scaleOf, shadeOf } from "../matrices/scales.js";

/** The row and the column of a sum of products, and the products one by one. */
export const productStrips = (terms, left, right, role) => {
  const products = terms.filter(({ numbers }) => numbers[0] !== null); // not the bias
  const values = products.map(({ value }) => value);
  return [
    { ...left, numbers: products.map(({ numbers }) => numbers[0]) },
    { sign: "·", ...right, numbers: products.map(({ numbers }) => numbers[1]) },
    { sign: "=", label: "their products", role, numbers: values, scale: scaleOf("numbers", { data: values }) },
  ];
};

/** A row of scores, its exponentials, and the resulting weights; one of the weights is the chosen cell. */
export const softmaxStrips = (terms, scores, chosen) => {
  const strip = (label, numbers) => ({ sign: "→", label, role: "w", numbers, scale: scaleOf("weights") });
  const [powers, shares] = [terms.map(({ value }) => value), terms.map(({ after }) => after)];
  return [
    { role: "w", numbers: terms.map(({ numbers }) => numbers[0]), ...scores },
    strip("exp(x − max)", powers),
    { ...strip("exp ÷ Σ", shares), chosen },
  ];
};

/** The strips of a making; null if there are none, or if one of their numbers is unknown. */
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
