// From one level of the page to another.

import { NO_MATRIX, setState, state } from "./state.js";
import { playing } from "./time.js";

/** Open a block of the model, in place. */
export const goToBlock = async (block) => {
  const isFirst = state.mode === "step" && state.position === 0 && !playing;
  await setState({ block, ...NO_MATRIX, ...(isFirst && block ? { mode: "training" } : {}) }, { left: null });
};

export const CLOSED = { block: "", ...NO_MATRIX };
