// The inspector explains how one cell was computed: the cell under the pointer or the focus, or a pinned cell.

import { button, element, redraw, rowHead, tableOf, withScripts, words, wordsOf } from "../base/elements.js";
import { allDigits, fourDecimals, numbersOf } from "../base/numbers.js";
import { capitalised } from "../base/text.js";
import { codeOfTensor } from "../runs/runs.js";
import { cellPlace } from "../matrices/cell_words.js";
import { twinOfMatrix } from "../matrices/copying.js";
import { makingOf } from "../cells/making.js";
import { stripsOfMaking } from "../cells/strips.js";
import { besideTitles } from "./plate.js";

/** Show a cell in the inspector. If more cells are requested while one is computed, only the last is shown. */
export const inspect = (drawing, cell) => {
  drawing.asked = cell;
  if (drawing.isInspecting) return;
  drawing.isInspecting = true;
  requestAnimationFrame(async () => {
    drawing.isInspecting = false;
    const { asked, inspector } = drawing;
    const made = await inspectionOf(drawing, asked);
    if (drawing.asked !== asked || drawing.inspector !== inspector) return;
    const isOpen = inspector.querySelector(".names")?.open;
    inspector.className = `inspector role-${asked.figure.spec.role}${drawing.isPinned ? " pinned" : ""}`;
    redraw(inspector, made);
    inspector.querySelector(".names").open = isOpen;
    // In a narrow window, the inspector is below the matrices: scroll to it when a cell is pinned.
    if (drawing.isToShow && getComputedStyle(inspector).position === "static")
      inspector.scrollIntoView({ block: "start" });
    drawing.isToShow = false;
  });
};

const inspectionOf = async ({ view, isPinned, unpin }, { figure: { spec }, row, column }) => {
  const at = spec.back?.(row, column) ?? [row, column];
  const made = spec.isParameter
    ? [numberOfCell(spec.panel.at(row, column), spec.word), element("p", parameterNote(view.run, spec))]
    : showMaking(await makingOf(view.run, spec.name, spec.head, ...at));
  const { other, isSame } = spec;
  const [, beside] = other || isSame ? besideTitles(view) : [];
  return [
    element("div.inspector-head", [
      element("h2", cellPlace(spec, row, column)),
      isPinned
        ? button("Unpin", unpin, { class: "unpin", "data-key": "unpin", title: "Escape" })
        : !spec.isParameter && element("small.pin-hint", "click a cell to pin it"),
    ]),
    made,
    beside &&
      element("p.value-beside", `${capitalised(beside)}: `, isSame ? "the same." : fourDecimals(other.at(row, column))),
    namesOf(spec),
  ];
};

const parameterNote = (run, { name, panel }) => {
  if (run.isWorked) return "This number is given: the example starts from it.";
  const isKeyBias = name.endsWith(".key.bias") && numbersOf(panel).every((value) => value === 0);
  const why = " A bias of the keys adds the same to every score of a row, which softmax ignores: it stays 0.";
  return `Training found this number: nothing makes it in this pass.${isKeyBias ? why : ""}`;
};

/** Make a folded part with the line of code, the names, the shape and the table of all digits. */
const namesOf = (spec) => {
  const { caption, name, shape, isParameter } = spec;
  const code = isParameter ? null : codeOfTensor(name);
  const row = (label, ...children) => [element("dt", label), element("dd", children)];
  const place = code && element("small", ` ${code.file.split("/").at(-1)}:${code.line}`);
  const parts = name.split(/(?<=\.)/).map((part) => [element("wbr"), part]); // lines may break after a dot
  return element("details.names", [
    element("summary", "Code and names"),
    caption.reading && element("p", withScripts(caption.reading)),
    element("dl", [
      code && row("our code", element("code", code.text), place),
      row(isParameter ? "in the state_dict" : "in the trace", element("code", parts)),
      caption.notes && row("also called", withScripts(caption.notes)),
      row("shape", shape),
    ]),
    twinOfMatrix(name, spec),
  ]);
};

/** Show a making: the number, the equation with its numbers, then every term with its share. */
const showMaking = (making) => {
  const { terms, written, difference, missing } = making;
  const far = difference === 0 ? "the same number" : `it differs by ${difference?.toExponential(1)}`;
  return element("section.making", { tabindex: "-1", "aria-label": "How this number was made" }, [
    numberOfCell(making.recorded, making.said),
    element("p.making-equation", withScripts(making.equation)),
    stripsOfMaking(making),
    written && element("p.making-written", written),
    terms.length > 0 && termsTable(making),
    making.note && element("p.making-note", making.note),
    written && !missing && element("p.agreement", `computed again here in double precision: ${far}`),
  ]);
};

const numberOfCell = (value, said) =>
  element("p.making-total", [
    element("b", fourDecimals(value)),
    element("span.digits", ` in full ${allDigits(value)}`),
    element("span.label", ` ${said}`),
  ]);

/** Make a table of all terms. A bar shows the size of a term relative to the largest one (in a softmax, its share). */
const termsTable = ({ headings, terms, total, sum = total, afterHeading }) => {
  const most = afterHeading ? 1 : Math.max(...terms.map(({ value }) => Math.abs(value)), 1e-30);
  const number = (value) => element("td", value === null ? "" : fourDecimals(value));
  const bar = (value) =>
    element("i.term-bar", { class: value < 0 && "below", "--share": (Math.abs(value) / most).toFixed(4) });
  const noBar = () => element("td.bar-cell");
  const table = tableOf(terms.some(({ value }) => value < 0) ? "terms" : "terms one-sided", {
    heading: [...wordsOf([...headings, afterHeading].filter(Boolean)), null],
    rows: terms.map(({ label, numbers, value, after, chosen }) =>
      element("tr", { class: chosen && "chosen", "aria-current": chosen ? "true" : null }, [
        rowHead(words(label), chosen && element("span.unseen", " this one")),
        [...numbers, value].map(number),
        afterHeading && number(after),
        element("td.bar-cell", { "aria-hidden": "true" }, bar(after ?? value)),
      ]),
    ),
    last: [rowHead("Σ"), headings.slice(2).map(() => element("td")), number(sum), afterHeading && number(1), noBar()],
  });
  return element("div.table-scroll.terms-box", { tabindex: "0", role: "region", "aria-label": "every term" }, table);
};
