// A making as it is shown: the equation with its numbers, then every term with its share, then the total.

/** A making (of makingOf) as an element. */
const showMaking = (making) =>
  element("section", { class: "making", tabindex: "-1", "aria-label": `How this number was made: ${making.title}` }, [
    element("div", { class: "making-words" }, [
      element("h5", {}, "How it was made: ", element("b", {}, making.title)),
      element("p", { class: "making-equation" }, withScripts(making.equation)),
      stripsOfMaking(making),
      making.written ? element("p", { class: "making-written" }, making.written) : null,
      element("p", { class: "making-total" }, [
        element("span", { class: "label" }, making.said, " "),
        element("b", {}, fourDecimals(making.recorded)),
        element("span", { class: "digits" }, ` ${allDigits(making.recorded)}`),
      ]),
      making.note ? element("p", { class: "making-note" }, making.note) : null,
      making.missing ? null : agreement(making),
      making.weighted ? stackedBar(making) : null,
    ]),
    making.terms.length ? termsTable(making) : making.steps.length ? stepsList(making) : null,
  ]);

/** How far the sum that the page makes here is from the number of the pass. */
const agreement = ({ difference, terms, steps }) => {
  if (!terms.length && !steps.length) return null;
  const far = difference === 0 ? "the same number" : `${difference.toExponential(1)} from it`;
  return element("p", { class: "agreement" }, `computed again here, in double precision: ${far}`);
};

const stepsList = ({ steps }) =>
  element("dl", { class: "making-steps" }, [
    steps.map(({ label, value }) => [element("dt", {}, label), element("dd", {}, fourDecimals(value))]),
  ]);

/** Every term under its headings; a bar says how large it is beside the largest (of a softmax: its share). */
const termsTable = ({ headings, terms, total, sum = total, afterHeading }) => {
  const lessAt = headings.indexOf("x − max") - 1; // of a softmax; a narrow screen leaves it out
  const most = afterHeading ? 1 : Math.max(...terms.map(({ value }) => Math.abs(value)), 1e-30);
  const number = (value, place) =>
    element("td", { class: place === lessAt ? "less" : null }, value === null ? "" : fourDecimals(value));
  const after = (value) => (afterHeading ? number(value) : null);
  const table = tableOf(terms.some(({ value }) => value < 0) ? "terms" : "terms one-sided", {
    heading: [
      [...headings, afterHeading]
        .filter(Boolean)
        .map((heading, place) =>
          element("th", { scope: "col", class: place && place - 1 === lessAt ? "less" : null }, words(heading)),
        ),
      element("td", { class: "bar-cell" }),
    ],
    rows: terms.map((term) =>
      element("tr", { class: term.chosen ? "chosen" : null, "aria-current": term.chosen ? "true" : null }, [
        rowHead(words(term.label), term.chosen ? element("small", {}, " this one") : null),
        [...term.numbers, term.value].map(number),
        after(term.after),
        element("td", { class: "bar-cell", "aria-hidden": "true" }, termBar(term.after ?? term.value, most)),
      ]),
    ),
    last: [
      rowHead("Σ"),
      headings.slice(2).map((_, place) => element("td", { class: place === lessAt ? "less" : null })),
      number(sum),
      after(1),
      element("td", { class: "bar-cell" }),
    ],
  });
  return element(
    "div",
    { class: "table-scroll terms-box", tabindex: "0", role: "region", "aria-label": "every term" },
    table,
  );
};

const termBar = (value, most) =>
  element("i", { class: value < 0 ? "term-bar below" : "term-bar", "--share": (Math.abs(value) / most).toFixed(4) });

/** The terms of a weighted sum laid end to end: to the right what adds, to the left what takes away. */
const stackedBar = ({ terms, total }) => {
  const adds = terms.filter(({ value }) => value > 0),
    takes = terms.filter(({ value }) => value < 0);
  const whole = Math.max(sumOfTerms(adds), -sumOfTerms(takes), 1e-30);
  const pieces = (list) =>
    list.map(({ label, value }) => {
      const share = Math.abs(value) / whole;
      return element("span", { "--share": share.toFixed(4), title: `${label} ${fourDecimals(value)}` }, [
        share > 0.14 ? words(label) : null,
      ]);
    });
  const line = (name, list) =>
    element("div", { class: `stack-line ${name}` }, [
      element("small", {}, name === "adds" ? "adds" : "takes away"),
      element("div", { class: "stack-bar" }, pieces(list)),
      element("span", { class: "stack-sum" }, fourDecimals(sumOfTerms(list))),
    ]);
  return element(
    "div",
    {
      class: "stacked",
      role: "img",
      "aria-label": `${terms.map(({ label, value }) => `${label} ${fourDecimals(value)}`).join(", ")}; together ${fourDecimals(total)}`,
    },
    line("adds", adds),
    takes.length ? line("takes", takes) : null,
  );
};
