// The first thing that one reads: a sentence and what it became. Below the drawing, each step in a table.

const drawSentence = (run, place) => {
  const to = /^[\w-]+$/.test(run.to ?? "") ? run.to : null;
  redraw(place, [
    words(run.text),
    " ",
    element("span", { class: "arrow", role: "img", "aria-label": "becomes" }, "→"),
    " ",
    words(run.translation, { class: "said-sentence", lang: to }),
  ]);
  place.style.setProperty("--letters", Math.max(20, [...run.text, ...run.translation].length + 3));
  document.title = `${visibleText(run.text)} → ${visibleText(run.translation)} · Pellucid`;
};

/** What is lit up in the drawing, in words: which position, what it has read and what it says. */
const drawNext = (run, position, place) => {
  const step = run.steps[position];
  const read = run.target.slice(0, position + 1);
  redraw(place, [
    element("p", { class: "read" }, [
      element("span", { class: "label" }, `Position ${position + 1} has read`),
      " ",
      read.map((token) => [words(token, { class: "chip" }), " "]),
      element("span", { class: "label" }, "and gives each next word a probability:"),
    ]),
    element("ol", { class: "best" }, [
      step.alternatives.map(([token, probability]) =>
        element("li", { class: token === step.expected ? "expected" : null }, [
          words(token),
          shareBar(probability),
          element("span", { class: "number" }, fourDecimals(probability)),
        ]),
      ),
    ]),
  ]);
};

/** The table of steps: input, expected, predicted, probability, loss and the most probable words. */
const drawSteps = (run, before, place) => {
  const total = run.steps.reduce((sum, step) => sum + step.loss, 0);
  const names = ["step", "input", "expected", "probability", "loss", "most probable"];
  if (before) names.splice(4, 0, "before the switch");
  const table = tableOf("steps", {
    caption: `The losses add up to ${fourDecimals(total)}.`,
    heading: names.map((name) => columnHead(name)),
    rows: run.steps.map((step, at) => stepRow(step, at, before)),
  });
  place.querySelector("table")?.replaceWith(table);
};

const stepRow = (step, at, before) => {
  const cell = (label, ...children) => element("td", { "data-label": label }, children);
  const number = (label, ...children) => element("td", { "data-label": label, class: "number" }, children);
  const better = element("small", { class: "miss" }, "more probable: ", words(step.predicted));
  const share = (probability) => element("span", { class: "share" }, fourDecimals(probability));
  return element("tr", { class: at === state.position ? "lit" : null }, [
    rowHead(at + 1),
    cell("input", words(step.input)),
    element("td", { "data-label": "expected", class: "expected" }, [
      words(step.expected),
      step.predicted === step.expected ? null : better,
    ]),
    number("probability", fourDecimals(step.probability), shareBar(step.probability)),
    before ? number("before the switch", fourDecimals(before.steps[at].probability)) : null,
    number("loss", fourDecimals(step.loss)),
    cell(
      "most probable",
      element("div", {}, [
        step.alternatives.map(([token, probability]) => [
          element("span", { class: "choice" }, words(token), " ", share(probability)),
          " ",
        ]),
      ]),
    ),
  ]);
};

/** Where each step looked: the alignment of words, as a table. */
const drawAlignment = async (run, place) => {
  const isNewest = ticketOf(place);
  const shares = await alignmentOf(run);
  if (!isNewest()) return;
  const table = tableOf("alignment", {
    heading: [
      element("td", { class: "corner" }, "asks ↓", element("br"), "attended to →"),
      run.source.map((token) => columnHead(words(token))),
    ],
    rows: shares.map((row, at) => [
      rowHead(words(run.target[at]), " ", element("small", {}, "→ ", words(run.expected[at]))),
      row.map((share) => element("td", { "--share": share.toFixed(4) }, fourDecimals(share))),
    ]),
  });
  place.querySelector("table")?.replaceWith(table);
};
