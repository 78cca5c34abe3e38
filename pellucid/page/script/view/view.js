// The runs on the screen, as the state asks for them: with its switches, at its step.

import { madeOnceOf } from "../base/text.js";
import { switchedRun } from "../runs/computed.js";
import { runOfStep } from "../runs/stepping.js";
import { state } from "./state.js";

export let current = null; // {base, whole, run, before, beside, heads}: what is on the screen

export const showRuns = (runs) => {
  current = runs;
};

/** A run at the view's step: if the mask is lifted, the run of this step alone. */
export const runInTime = (run) =>
  state.mode === "step" && !state.switches.causal && run.computes
    ? runOfStep(run, state.position + 1, state.cached)
    : run;

/** The run with these switches, computed once. */
export const runSwitched = (base, switches) =>
  madeOnceOf(base, `switched ${JSON.stringify(switches)}`, () => switchedRun(base, switches));
