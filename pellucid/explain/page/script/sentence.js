// The first thing that one reads: a sentence and what it became. Below the drawing, each step in a table.

const drawSentence = (run, place) => {
  const to = /^[\w-]+$/.test(run.to ?? "") ? run.to : null;
  redraw(
    place,
    words(run.text),
    " ",
    element("span", { class: "arrow", role: "img", "aria-label": "becomes" }, "→"),
    " ",
    words(run.translation, { class: "said-sentence", lang: to }),
  );
  place.style.setProperty("--letters", Math.max(20, [...run.text, ...run.translation].length + 3));
  document.title = `${visibleText(run.text)} → ${visibleText(run.translation)} · Pellucid`;
};

/** What is lit up in the drawing, in words: which position, what it has read and what it says. */
const drawNext = (run, position, place) => {
  const step = run.steps[position];
  const read = run.target.slice(0, position + 1);
  redraw(
    place,
    element(
      "p",
      { class: "read" },
      element("span", { class: "label" }, `Position ${position + 1} has read`),
      " ",
      read.map((token) => [words(token, { class: "chip" }), " "]),
      element("span", { class: "label" }, "and gives each next word a probability:"),
    ),
    element(
      "ol",
      { class: "best" },
      step.alternatives.map(([token, probability]) =>
        element(
          "li",
          { class: token === step.expected ? "expected" : null },
          words(token),
          shareBar(probability),
          element("span", { class: "number" }, fourDecimals(probability)),
        ),
      ),
    ),
  );
};

/** The table of steps: input, expected, predicted, probability, loss and the most probable words. */
const drawSteps = (run, before, place) => {
  const total = run.steps.reduce((sum, step) => sum + step.loss, 0);
  const names = ["step", "input", "expected", "probability", "loss", "most probable"];
  if (before) names.splice(4, 0, "before the switch");
  place.querySelector("table")?.replaceWith(
    element(
      "table",
      { class: "steps" },
      element("caption", {}, `The losses add up to ${fourDecimals(total)}.`),
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          names.map((name) => element("th", { scope: "col" }, name)),
        ),
      ),
      element(
        "tbody",
        {},
        run.steps.map((step, at) => stepRow(step, at, before)),
      ),
    ),
  );
};

const stepRow = (step, at, before) =>
  element(
    "tr",
    { class: at === state.position ? "lit" : null },
    element("th", { scope: "row" }, at + 1),
    element("td", { "data-label": "input" }, words(step.input)),
    element(
      "td",
      { "data-label": "expected", class: "expected" },
      words(step.expected),
      step.predicted === step.expected
        ? null
        : element("small", { class: "miss" }, "more probable: ", words(step.predicted)),
    ),
    element(
      "td",
      { "data-label": "probability", class: "number" },
      fourDecimals(step.probability),
      shareBar(step.probability),
    ),
    before
      ? element(
          "td",
          { "data-label": "before the switch", class: "number" },
          fourDecimals(before.steps[at].probability),
        )
      : null,
    element("td", { "data-label": "loss", class: "number" }, fourDecimals(step.loss)),
    element(
      "td",
      { "data-label": "most probable" },
      element(
        "div",
        {},
        step.alternatives.map(([token, probability]) => [
          element(
            "span",
            { class: "choice" },
            words(token),
            " ",
            element("span", { class: "share" }, fourDecimals(probability)),
          ),
          " ",
        ]),
      ),
    ),
  );

/** Where each step looked: the alignment of words, as a table. */
const drawAlignment = async (run, place) => {
  const shares = await alignmentOf(run);
  place.querySelector("table")?.replaceWith(
    element(
      "table",
      { class: "alignment" },
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          element("td", { class: "corner" }, "asks ↓", element("br"), "attended to →"),
          run.source.map((token) => element("th", { scope: "col" }, words(token))),
        ),
      ),
      element(
        "tbody",
        {},
        shares.map((row, at) =>
          element(
            "tr",
            {},
            element(
              "th",
              { scope: "row" },
              words(run.target[at]),
              " ",
              element("small", {}, "→ ", words(run.expected[at])),
            ),
            row.map((share) => element("td", { "--share": share.toFixed(4) }, fourDecimals(share))),
          ),
        ),
      ),
    ),
  );
};
