// The content of the file. It is filled when the page opens.

/** The content of the file: {header, models, runs}. */
export const page = { header: null, models: [], runs: [] };
