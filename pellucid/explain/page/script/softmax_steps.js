// The softmax of one row, step by step: x, x − max, exp, the sum, the ratio.

/** The softmax of a row, in numbers: {columns: [{x, less, power, share}], most, sum}. */
const softmaxSteps = (numbers) => {
  const most = numbers.reduce((left, right) => Math.max(left, right), -Infinity);
  const isEmpty = most === -Infinity; // a row that may look nowhere has weights of 0
  const columns = numbers.map((x) => ({
    x,
    less: isEmpty ? -Infinity : x - most,
    power: isEmpty ? 0 : Math.exp(x - most),
  }));
  const sum = columns.reduce((total, { power }) => total + power, 0);
  return { most, sum, columns: columns.map((each) => ({ ...each, share: isEmpty ? 0 : each.power / sum })) };
};

/** The same as a table, for a row of masked scores; `labels` are the tokens that are asked. */
const softmaxTable = (numbers, labels, who) => {
  const { most, sum, columns } = softmaxSteps(numbers);
  const shares = columns.reduce((total, { share }) => total + share, 0);
  const line = (name, told, step, overRow = "") => [
    rowHead(name, " ", element("small", {}, told)),
    columns.map(({ [step]: value }) =>
      element("td", { class: value === -Infinity ? "hatched" : null }, fourDecimals(value)),
    ),
    element("td", { class: "sum" }, overRow),
  ];
  const table = tableOf(
    { class: "softmax-steps" },
    {
      caption: ["How the row of ", words(who), " becomes weights"],
      heading: [columnHead("step"), labels.map((label) => columnHead(words(label))), columnHead("over the row")],
      rows: [
        line("x", "masked score", "x", `max ${fourDecimals(most)}`),
        line("x − max", "so that no exp is too large", "less"),
        line("exp(x − max)", "above zero, or 0 for −∞", "power", `Σ ${fourDecimals(sum)}`),
        line("exp ÷ Σ", "the weights", "share", `Σ ${fourDecimals(shares)}`),
      ],
    },
  );
  return element("div", { class: "table-scroll" }, table);
};
