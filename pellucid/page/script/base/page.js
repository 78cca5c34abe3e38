// The content of the file: its header, its models and its runs, filled when the page opens.

/** The content of the file: {header, models, runs}. */
export const page = { header: null, models: [], runs: [] };
