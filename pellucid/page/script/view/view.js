// The runs that the page shows, with the switches and the step of the state.

import { madeOnceOf } from "../base/text.js";
import { runOfStep } from "../runs/stepping.js";
import { switchedRun } from "../runs/switches.js";
import { state } from "./state.js";

export let current = null; // {base, whole, run, before, beside, heads}: the runs that are shown

export const showRuns = (runs) => (current = runs);

/** Return a run at the view's step. Without the causal mask, each step has its own run. */
export const runInTime = (run) =>
  state.mode === "step" && !state.switches.causal && run.model.maker
    ? runOfStep(run, state.position + 1, state.cached)
    : run;

/** Return the run with these switches; it is computed once. */
export const runSwitched = (base, switches) =>
  madeOnceOf(base, `switched ${JSON.stringify(switches)}`, () => switchedRun(base, switches));
