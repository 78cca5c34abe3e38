// The stops of the tour, in the order in which a decoder is usually taught. A stop is a view of this page, a few
// sentences with this page's own numbers, and one thing to try.

const firstSelf = "decoder.layers.0.self_attention";
const firstCross = "decoder.layers.0.cross_attention";

/** The place of the row's largest number, and that number. */
const largestOf = (panel, row) => {
  let column = 0;
  for (let each = 1; each < panel.columns; each += 1) if (panel.at(row, each) > panel.at(row, column)) column = each;
  return { column, value: panel.at(row, column) };
};

/** "a, b and c", each kept from turning its neighbours round. */
const listed = (tokens) =>
  tokens.flatMap((token, place) => [place === 0 ? "" : place === tokens.length - 1 ? " and " : ", ", words(token)]);

/** The second row, where there is one: the first that has something before it. */
const secondOf = (tokens) => Math.min(1, tokens.length - 1);

const TOUR = [
  {
    title: "Tokens, and the shift",
    tensor: "",
    text: (run) => [
      "The encoder reads ", listed(run.source), ". The decoder reads ", listed(run.target),
      ": the translation, moved one place to the right behind the start token. At each place it is to say the word ",
      "that comes next: ", listed(run.expected), ".",
    ],
    trial: { label: "Look at the last place", changes: (run) => ({ position: run.target.length - 1 }) },
  },
  {
    title: "Embedding and positions",
    tensor: "encoder.embedded",
    text: async (run) => {
      const { config } = run;
      const scaled = config.scale_embeddings ? `, times √${config.width} = ${fourDecimals(Math.sqrt(config.width))}` : "";
      return [
        `A token’s vector is its row of a table of ${config.vocabulary} × ${config.width} numbers${scaled}: to look a row `,
        "up is to multiply the table with a one-hot row. Attention alone does not know what comes first, so sines and ",
        "cosines of the place are added.",
      ];
    },
    trial: { label: "See the positions alone", tensor: "encoder.positions" },
  },
  {
    title: "The encoder’s self-attention has no mask",
    tensor: "encoder.layers.0.self_attention.weights",
    text: async (run) => {
      const row = secondOf(run.source);
      const { column, value } = largestOf(panelOf(await run.get("encoder.layers.0.self_attention.weights"), 0), row);
      return [
        "Every source token asks every other, also those behind it. In head 0, ", words(run.source[row]),
        " looks most at ", words(run.source[column]), ` (${fourDecimals(value)}). A row adds up to 1.`,
      ];
    },
    trial: { label: "Another head", changes: () => ({ head: 1 }), heads: 2 },
  },
  {
    title: "The memory",
    tensor: "encoder.output",
    text: (run) => [
      `What leaves the encoder is called the memory: ${run.source.length} × ${run.config.width}, a vector for each `,
      "source token, and not one for the whole sentence. Each decoder layer makes keys and values of its own from it.",
    ],
    trial: { label: "See the keys that the first layer makes", tensor: `${firstCross}.keys` },
  },
  {
    title: "Queries, keys and values",
    tensor: `${firstSelf}.queries`,
    text: (run) => {
      const { width, heads } = run.config;
      return [
        "In the decoder’s first layer each position makes three vectors by three matrices: X · W^Q asks, X · W^K is asked, ",
        `X · W^V is what it has to give. (${run.target.length}×${width})·(${width}×${width}), and each of the ${heads} `,
        `heads takes ${width / heads} columns.`,
      ];
    },
    trial: { label: "How its first number is made", changes: () => ({ row: 0, column: 0 }) },
  },
  {
    title: "Scores, and their scale",
    tensor: `${firstSelf}.scores`,
    text: async (run) => {
      const row = secondOf(run.target);
      const root = Math.sqrt(run.config.width / run.config.heads);
      const score = panelOf(await run.get(`${firstSelf}.scores`), 0).at(row, 0);
      const scaled = panelOf(await run.get(`${firstSelf}.scaled_scores`), 0).at(row, 0);
      return [
        "A score is the dot product of a query and a key: ", words(run.target[row]), " asks ", words(run.target[0]),
        ` and gets ${fourDecimals(score)}. Divided by √d_k = ${fourDecimals(root)} that is ${fourDecimals(scaled)}: `,
        "longer vectors would otherwise make larger scores, and the softmax would leave room for one word only.",
      ];
    },
    trial: { label: "Take the scale away", switches: { scale: false }, tensor: `${firstSelf}.weights` },
  },
  {
    title: "The mask",
    tensor: `${firstSelf}.mask`,
    text: (run) => {
      const length = run.target.length;
      return [
        "All positions are computed at once, so each could see the words that it is to predict. The mask forbids it: ",
        `${(length * (length - 1)) / 2} of the ${length * length} scores get −∞ added. What stays is a position itself `,
        "and what precedes it.",
      ];
    },
    trial: { label: "Lift the mask, and see the leak", switches: { causal: false }, tensor: `${firstSelf}.weights` },
  },
  {
    title: "Softmax, and the context",
    tensor: `${firstSelf}.weights`,
    text: async (run) => {
      const row = secondOf(run.target);
      const panel = panelOf(await run.get(`${firstSelf}.weights`), 0);
      const { column, value } = largestOf(panel, row);
      return [
        "exp, divided by the row’s sum, makes shares of a row: ", words(run.target[row]), " gives ",
        words(run.target[column]), ` ${fourDecimals(value)}. Where −∞ was is exactly 0. The context is these shares of the `,
        "rows of V; the first position has only itself, so its context is the first row of V.",
      ];
    },
    trial: { label: "How a number of the context is made", tensor: `${firstSelf}.context`, changes: (run) => ({ row: secondOf(run.target), column: 0 }) },
  },
  {
    title: "Heads, and W^O",
    tensor: `${firstSelf}.concatenated`,
    text: (run) => [
      `${run.config.heads} heads have done this side by side, each with its own columns. Their contexts stand next to `,
      "each other in one matrix again, and W^O, on its right, mixes them.",
    ],
    trial: { label: "Silence head 0 of this layer", switches: { silent: { [firstSelf]: [0] } }, tensor: `${firstSelf}.concatenated` },
  },
  {
    title: "Add & Norm",
    tensor: "decoder.layers.0.residual_1.sum",
    text: async (run) => {
      const [mean, variance] = await Promise.all(
        ["mean", "variance"].map((name) => run.get(`decoder.layers.0.residual_1.norm.${name}`)),
      );
      return [
        "What attention found is added to what came in: nothing is lost on the way. Then each position’s vector is moved ",
        `to mean 0 and variance 1 (the first one has ${fourDecimals(panelOf(mean, 0).at(0, 0))} and `,
        `${fourDecimals(panelOf(variance, 0).at(0, 0))} here), times a weight, plus a bias.`,
      ];
    },
    trial: { label: "Take all residuals away", switches: { residual: false }, tensor: "decoder.layers.0.residual_1.sum" },
  },
  {
    title: "Cross-attention: the decoder asks the source",
    tensor: `${firstCross}.weights`,
    text: async (run) => {
      const row = secondOf(run.target);
      const { column, value } = largestOf(panelOf(await run.get(`${firstCross}.weights`), 0), row);
      return [
        "The queries are the decoder’s, the keys and values are made from the memory: ",
        `${run.target.length} × ${run.source.length}, target × source. After `, words(run.target[row]), ", head 0 looks most at ",
        words(run.source[column]), ` (${fourDecimals(value)}). Whatever step it is, K and V stay the same.`,
      ];
    },
    trial: { label: "See it in time: the second step", changes: (run) => ({ mode: "step", position: secondOf(run.target) }) },
  },
  {
    title: "From a vector to a word",
    tensor: "decoder.probabilities",
    text: (run) => [
      `After the feed-forward, (…×${run.config.width})·(${run.config.width}×${run.config.hidden}) and back, and the last `,
      "Add & Norm, one more matrix gives every word of the vocabulary a number; softmax makes them probabilities. First word: ",
      words(run.expected[0]), `, ${fourDecimals(run.steps[0].probability)}.`,
    ],
    trial: { label: "See the logits before the softmax", tensor: "decoder.logits" },
  },
  {
    title: "Feed it back: the next step",
    tensor: `${firstSelf}.weights`,
    changes: (run) => ({ mode: "step", position: secondOf(run.target) }),
    text: (run) => [
      words(run.expected[0]), " was said, so it goes in again, and one new row is computed. The keys and values of the ",
      "places before it are remembered: that is the cache. Without it the whole beginning would be computed anew, with ",
      "the same numbers.",
    ],
    trial: { label: "Without the cache", changes: () => ({ cached: false }) },
  },
  {
    title: "Training: all steps at once, the same numbers",
    tensor: `${firstSelf}.weights`,
    text: async (run) => {
      const { largestDifference } = await stepByStep(run, true);
      return [
        "In training the right words are known, so all rows are computed together: teacher forcing. Row t sees what step t ",
        `saw, because of the mask. The largest difference between the two ways here: ${largestDifference.toExponential(1)}. `,
        "Step by step, a sentence would take as many passes through the decoder as it has words.",
      ];
    },
    trial: { label: "Back to the whole model", tensor: "" },
  },
];
