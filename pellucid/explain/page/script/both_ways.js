// With a cache and without one: the same run decoded step by step in both ways, next to each other.

const comparisons = new WeakMap();

/** A run decoded step by step and compared with all positions at once; made once. */
const comparedInTime = (run, cached) => {
  const known = comparisons.get(run) ?? {};
  comparisons.set(run, known);
  known[cached] ??= stepByStep(run, cached);
  return known[cached];
};

const inExponents = (value) => (value === 0 ? "0" : value.toExponential(1));
