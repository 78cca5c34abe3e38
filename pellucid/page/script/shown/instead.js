// A candidate for the next word: a click says it instead, and the model goes on from there.

import { button, element, say } from "../base/elements.js";
import { meaningOf } from "../base/tokens.js";
import { setState } from "../view/state.js";

/** Make a button for the `rank`-th most probable token at a position; plain text, if it cannot be said instead. */
export const candidate = (run, position, rank, label) => {
  const { expected, alternatives } = run.steps[position];
  const [token] = alternatives[rank];
  if (token === expected || meaningOf(token) || !run.model.maker) return element("span.choice", label);
  const { text, to } = run.sentence;
  const choose = async () => {
    const target = await run.model.maker.instead(run, position, rank);
    say(`${text} becomes ${target}`);
    await setState({ mode: "step", position, text, to, target, row: null, column: null });
  };
  return button(label, () => choose().catch((error) => setState({ fault: error.message })), {
    class: "choice",
    "data-key": `instead-${position}-${rank}`,
    title: "say this here, and let the model go on",
  });
};
