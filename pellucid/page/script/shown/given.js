// A translation that the reader gave: compare it with the model's own, and show where the two part.

import { redraw, ticketOf, words } from "../base/elements.js";
import { fourDecimals } from "../base/numbers.js";
import { ownRun } from "../view/typing.js";

export const drawGiven = async (run, place) => {
  const isNewest = ticketOf(place);
  place.hidden = true;
  if (!run.forced) return;
  const said = run.computes ? await foundInstead(run) : null;
  if (!isNewest()) return;
  redraw(place, "This translation was given, not found by the model", ...(said ? givenAgainst(run, said) : ["."]));
  place.hidden = false;
};

/** Translate the sentence with the model itself; null where that fails. */
const foundInstead = async (run) => {
  try {
    return await ownRun(run.text, run.to, null, run.model);
  } catch {
    return null;
  }
};

const givenAgainst = (run, said) => {
  const place = run.expected.findIndex((token, at) => token !== said.expected[at]);
  const loss = ({ steps }) => fourDecimals(steps.reduce((sum, step) => sum + step.loss, 0));
  if (place < 0) return [", and the model says the same: ", words(said.translation), "."];
  const { probability, expected } = run.steps[place];
  const instead = said.steps[place]; // the two have read the same so far
  return [
    ". The model says ",
    words(said.translation),
    `, with a loss of ${loss(said)}; this one has ${loss(run)}. `,
    `They part at position ${place + 1}: `,
    words(instead.expected),
    ` has ${fourDecimals(instead.probability)}, `,
    words(expected),
    ` has ${fourDecimals(probability)}.`,
  ];
};
