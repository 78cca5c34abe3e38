// What the file carries: its header, its models and its runs, filled when the page opens.

/** What the file carries: {header, models, runs}. */
export const page = { header: null, models: [], runs: [] };
