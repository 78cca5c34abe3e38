// A translation that the reader gave: compare it with the model's own, and show where the two part.

import { words } from "../base/elements.js";
import { fourDecimals } from "../base/numbers.js";
import { ownRun } from "../view/typing.js";

/** What is said of a given translation; null of one that the model found. */
export const givenInWords = async (run) => {
  if (!run.forced) return null;
  const given = "This translation was given, not found by the model";
  // What the model says itself; null where that fails.
  const said = run.computes ? await ownRun(run.text, run.to, null, run.model).catch(() => null) : null;
  if (!said) return `${given}.`;
  const place = run.expected.findIndex((token, at) => token !== said.expected[at]);
  if (place < 0) return [`${given}, and the model says the same: `, words(said.translation), "."];
  const loss = ({ steps }) => fourDecimals(steps.reduce((sum, step) => sum + step.loss, 0));
  const has = ({ expected, probability }) => [words(expected), ` has ${fourDecimals(probability)}`];
  return [
    `${given}. The model says `,
    words(said.translation),
    `, with a loss of ${loss(said)}; this one has ${loss(run)}. They part at position ${place + 1}: `,
    has(said.steps[place]), // the two have read the same so far
    ", ",
    has(run.steps[place]),
    ".",
  ];
};
