// The inspector: of one cell, how it was made. It stands where it is; hover or focus fills it, click or Enter pins.

import { button, element, redraw, rowHead, tableOf, words } from "../base/elements.js";
import { allDigits, fourDecimals, numbersOf } from "../base/numbers.js";
import { withScripts } from "../base/scripted.js";
import { capitalised } from "../base/text.js";
import { codeOfTensor } from "../runs/runs.js";
import { cellPlace, withWords } from "../matrices/cell_words.js";
import { twinOfMatrix } from "../matrices/copying.js";
import { sumOfTerms } from "../cells/terms.js";
import { makingOf } from "../cells/making.js";
import { stripsOfMaking } from "../cells/strips.js";
import { besideTitles, codeLine, dottedName } from "./plate.js";

/** Fill the inspector; of several cells asked for while one is computed, the last. */
export const inspect = (drawing, cell) => {
  drawing.asked = cell;
  if (drawing.inspecting) return;
  drawing.inspecting = true;
  requestAnimationFrame(async () => {
    drawing.inspecting = false;
    const { asked, inspector } = drawing;
    const made = await inspectionOf(drawing, asked);
    if (drawing.asked !== asked || drawing.inspector !== inspector) return;
    const isOpen = inspector.querySelector(".names")?.open;
    inspector.className = `inspector role-${asked.figure.spec.role}${drawing.isPinned ? " pinned" : ""}`;
    redraw(inspector, made);
    if (isOpen) inspector.querySelector(".names").open = true;
    // Below the matrices, where the window is narrow, it comes up when a cell is pinned.
    if (drawing.isToShow && getComputedStyle(inspector).position === "static")
      inspector.scrollIntoView({ block: "start" });
    drawing.isToShow = false;
  });
};

const inspectionOf = async (drawing, { figure: { spec }, row, column }) => {
  const { view } = drawing;
  const [r, c] = spec.back?.(row, column) ?? [row, column];
  const pin = drawing.isPinned
    ? button("Unpin", drawing.unpin, { class: "unpin", "data-key": "unpin", title: "Escape" })
    : element("small", { class: "pin-hint" }, "click a cell to pin it");
  const head = (place) => element("div", { class: "inspector-head" }, element("h3", {}, place), pin);
  const value = spec.panel.at(row, column);
  const place = cellPlace(withWords(spec), row, column);
  if (spec.isParameter) {
    return [
      head(place),
      numberOfCell(value, spec.word),
      element("p", {}, parameterNote(view.run, spec)),
      namesOf(spec),
    ];
  }
  const making = await makingOf(view.run, spec.name, spec.head ?? 0, r, c);
  return [head(place), showMaking(making), valueBeside(view, spec, row, column), namesOf(spec)];
};

const parameterNote = (run, { name, panel }) => {
  if (run.isWorked) return "This number is given: the example starts from it.";
  const isKeyBias = name.endsWith(".key.bias") && numbersOf(panel).every((value) => value === 0);
  const why = " A bias of the keys adds the same to every score of a row, which softmax ignores: it stays 0.";
  return `Training found this number: nothing makes it in this pass.${isKeyBias ? why : ""}`;
};

/** The same cell of the run that stands beside this one. */
const valueBeside = (view, { other, isSame }, row, column) => {
  if (!view.beside || (!other && !isSame)) return null;
  const [, beside] = besideTitles(view);
  return element(
    "p",
    { class: "value-beside" },
    `${capitalised(beside)}: `,
    isSame ? "the same." : fourDecimals(other.at(row, column)),
  );
};

/** The line of our code, the names, the shape, the table of all digits: folded. */
const namesOf = (spec) => {
  const { caption, name, shape, isParameter } = spec;
  const code = isParameter ? null : codeOfTensor(name);
  const twin = twinOfMatrix(name, spec);
  const row = (label, ...children) => [element("dt", {}, label), element("dd", {}, children)];
  return element("details", { class: "names" }, [
    element("summary", {}, "Code and names"),
    caption.reading ? element("p", {}, withScripts(caption.reading)) : null,
    element("dl", {}, [
      code ? row("our code", codeLine(code)) : null,
      row(isParameter ? "in the state_dict" : "in the trace", dottedName(name)),
      caption.notes ? row("also called", withScripts(caption.notes)) : null,
      row("shape", shape),
    ]),
    twin.copy,
    twin.fold,
  ]);
};

/** A making (of makingOf) as elements: the number, the equation with its numbers, then every term with its share. */
const showMaking = (making) =>
  element("section", { class: "making", tabindex: "-1", "aria-label": `How this number was made: ${making.title}` }, [
    numberOfCell(making.recorded, making.said),
    element("p", { class: "making-equation" }, withScripts(making.equation)),
    stripsOfMaking(making),
    making.written ? element("p", { class: "making-written" }, making.written) : null,
    making.terms.length ? termsTable(making) : making.steps.length ? stepsList(making) : null,
    making.note ? element("p", { class: "making-note" }, making.note) : null,
    making.weighted ? stackedBar(making) : null,
    making.missing ? null : agreement(making),
  ]);

const numberOfCell = (value, said) =>
  element("p", { class: "making-total" }, [
    element("b", {}, fourDecimals(value)),
    element("span", { class: "digits" }, ` ${allDigits(value)}`),
    element("span", { class: "label" }, ` ${said}`),
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
