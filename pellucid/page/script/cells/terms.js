// The terms of a cell's sum: products, or the exponentials of a softmax.

import { fourDecimals } from "../base/numbers.js";
import { softmaxOf } from "../model/model.js";

/** Return the products of two lists of numbers as terms. */
export const productTerms = (labels, left, right) =>
  left.map((number, place) => ({
    label: labels[place],
    numbers: [number, right[place]],
    value: number * right[place],
  }));

export const sumOfTerms = (terms) => terms.reduce((sum, term) => sum + term.value, 0);
export const inSum = (number) => fourDecimals(number).replace(/^[-−].*/, "($&)");

/** Write a sum: "0.2000·0.1000 + 0.4000·0.2000 + …". The middle of a long sum is omitted. */
export const sumInWords = (terms, headings) => {
  const written = terms.map(({ numbers, value }) => {
    const factors = numbers.filter((number) => number !== null);
    return (factors.length === 2 && headings.at(-1).includes("·") ? factors : [value]).map(inSum).join("·");
  });
  return (written.length > 6 ? [...written.slice(0, 4), "…", written.at(-1)] : written).join(" + ");
};

/** Return the making of one weight of a softmax: its `best` largest terms, the chosen one, and the others added up. */
export const softmaxMaking = (numbers, chosen, labels, headings, best = Infinity) => {
  const { most, sum, powers, shares } = softmaxOf(numbers);
  const terms = numbers.map((x, place) => ({
    label: labels[place],
    numbers: [x, most === -Infinity ? -Infinity : x - most], // if all numbers of the row are −∞
    value: powers[place],
    after: shares[place],
    chosen: place === chosen,
  }));
  const all = fourDecimals(sum);
  return {
    equation: "exp(x − max) ÷ Σ exp",
    headings: [...headings, "x − max", "exp(x − max)"],
    afterHeading: "exp ÷ Σ",
    terms: bestTerms(terms, sum, best),
    sum,
    total: shares[chosen],
    written: `exp(${inSum(numbers[chosen])} − ${inSum(most)}) ÷ ${all} = ${fourDecimals(powers[chosen])} ÷ ${all}`,
  };
};

const bestTerms = (all, sum, best) => {
  if (all.length <= best) return all;
  const sorted = [...all].sort((one, other) => other.numbers[0] - one.numbers[0]); // equal ones keep their order
  const shown = sorted.filter((term, rank) => rank < best || term.chosen);
  const rest = sum - sumOfTerms(shown);
  const label = `${all.length - shown.length} other words`;
  return [...shown, { label, numbers: [null, null], value: rest, after: rest / sum }];
};
