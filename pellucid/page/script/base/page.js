// The content of the file. It is filled when the page opens.

/** The content of the file: {header, models, runs, open: opens the run of a number, which runs may lack until then}. */
export const page = { header: null, models: [], runs: [], open: async (at) => page.runs[at] };
