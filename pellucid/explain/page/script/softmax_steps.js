// The softmax of one row, step by step: x, x − max, exp, the sum, the ratio.

/** A table of the steps for a row of masked scores; `labels` are the tokens that are asked. */
const softmaxTable = (numbers, labels, who) => {
  const { most, sum, columns } = softmaxSteps(numbers);
  const line = (name, told, values, after = "") =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, name, " ", element("small", {}, told)),
      values.map((value) => element("td", value === -Infinity ? { class: "hatched" } : {}, fourDecimals(value))),
      element("td", { class: "sum" }, after),
    );
  return element(
    "div",
    { class: "table-scroll" },
    element(
      "table",
      { class: "softmax-steps" },
      element("caption", {}, "How the row of ", words(who), " becomes weights"),
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          element("th", { scope: "col" }, "step"),
          labels.map((label) => element("th", { scope: "col" }, words(label))),
          element("th", { scope: "col" }, "over the row"),
        ),
      ),
      element(
        "tbody",
        {},
        line(
          "x",
          "masked score",
          columns.map(({ x }) => x),
          `max ${fourDecimals(most)}`,
        ),
        line(
          "x − max",
          "so that no exp is too large",
          columns.map(({ less }) => less),
        ),
        line(
          "exp(x − max)",
          "above zero, or 0 for −∞",
          columns.map(({ power }) => power),
          `Σ ${fourDecimals(sum)}`,
        ),
        line(
          "exp ÷ Σ",
          "the weights",
          columns.map(({ share }) => share),
          `Σ ${fourDecimals(columns.reduce((total, { share }) => total + share, 0))}`,
        ),
      ),
    ),
  );
};
