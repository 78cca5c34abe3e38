// The tour's texts and addresses (tour.toml) have names in braces; this file replaces them by facts of the translation.

import { chip, withScripts } from "../base/elements.js";
import { fourDecimals, inExponents, largestCell, panelOf, panelsOf } from "../base/numbers.js";
import { meaningOf } from "../base/tokens.js";
import { lastCrossOf } from "../runs/parts.js";
import { comparedInTime } from "../runs/stepping.js";

const FACTS = {
  source: (run) => listed(run.source),
  target: (run) => listed(run.target),
  expected: (run) => listed(run.expected),
  length: (run) => run.target.length,
  last: (run) => run.target.length - 1,
  squared: (run) => run.target.length ** 2,
  forbidden: (run) => (run.target.length * (run.target.length - 1)) / 2,
  passes: (run) => counted(run.target.length, "pass", "passes"),
  "source length": (run) => run.source.length,
  vocabulary: ({ config }) => config.vocabulary,
  width: ({ config }) => config.width,
  hidden: ({ config }) => config.hidden,
  heads: ({ config }) => counted(config.heads, "head", "heads"),
  "head width": ({ config }) => config.width / config.heads,
  root: ({ config }) => fourDecimals(Math.sqrt(config.width / config.heads)),
  scaling: ({ config: { scale_embeddings: isScaled, width } }) =>
    isScaled ? `, times √${width} = ${fourDecimals(Math.sqrt(width))}` : "",
  "last cross-attention": lastCrossOf,
  "first word": (run) => chip(run.expected[0]),
  "its probability": (run) => fourDecimals(run.steps[0].probability),
  "difference of the two ways": (run) => differenceToSteps(run),
  // These depend on the stop's cell.
  head: (_, { head }) => head,
  row: (_, { row }) => row,
  column: (_, { column }) => column,
  "next head": ({ config }, { head }) => (head + 1) % config.heads,
  largest: (_, { value }) => fourDecimals(value),
  "source token of the row": (run, { row }) => chip(run.source[row]),
  "source token of the column": (run, { column }) => chip(run.source[column]),
  "target token of the row": (run, { row }) => chip(run.target[row]),
  "target token of the column": (run, { column }) => chip(run.target[column]),
  "word said in the row": (run, { row }) => chip(run.expected[row]),
};

const counted = (count, one, many) => `${count} ${count === 1 ? one : many}`;

/** List tokens as "a, b and c", each as an element. */
const listed = (tokens) =>
  tokens.flatMap((token, place) => [place === 0 ? "" : place === tokens.length - 1 ? " and " : ", ", chip(token)]);

/** Say how much one pass differs from decoding step by step, or why this page cannot compute it. */
const differenceToSteps = async (run) => {
  if (!run.computes)
    return "This page holds a recording and cannot decode it again to show that the numbers are the same.";
  const { difference } = await comparedInTime(run, true);
  return `The largest difference between the two ways here: ${inExponents(difference)}.`;
};

const FIRST_CELL = { head: 0, row: 0, column: 0 };

/** Return a text of the tour as a list of parts, with names replaced by the facts of a run and a cell. */
export const withFacts = (text, run, cell = FIRST_CELL) => {
  const numberIn = async (name) => fourDecimals(panelOf(await run.get(name), cell.head).at(cell.row, cell.column));
  const fact = (name) => FACTS[name]?.(run, cell) ?? numberIn(name);
  return Promise.all(text.split(/\{(.*?)\}/).map((part, at) => (at % 2 ? fact(part) : withScripts(part))));
};

// The cells that a stop may describe.
const CELLS = {
  ahead: () => (row, column) => column > row,
  behind: () => (row, column) => column < row,
  // No special token on either side.
  surest: (run) => (row, column) => !meaningOf(run.source[column]) && !meaningOf(run.expected[row]),
};

/** Return the cell that a stop describes: the allowed one with the largest number in all heads. */
export const cellOfStop = async (run, { view, cell }) => {
  if (!cell) return FIRST_CELL;
  const [tensor] = (await addressWithFacts(view, run)).split("?");
  const panels = panelsOf(await run.get(tensor));
  return largestCell(panels, CELLS[cell](run)) ?? { ...FIRST_CELL, value: panels[0].at(0, 0) };
};

export const addressWithFacts = async (address, run, cell) => (await withFacts(address, run, cell)).flat().join("");
