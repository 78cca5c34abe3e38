// One plate: a matrix with its symbol, its name and its shape. Folded it is a button; without its numbers an outline.

import { button, chip, element, say } from "../base/elements.js";
import { apart, fourDecimals, headsOfTensor, numbersOf, panelOf } from "../base/numbers.js";
import { withScripts, withoutScripts } from "../base/scripted.js";
import { splitName } from "../runs/parts.js";
import { UNSWITCHED, isSwitched } from "../runs/switches.js";
import { paintWhenShown } from "../matrices/canvas.js";
import { grid } from "../matrices/grid.js";
import { kindOfNumbers, legendOf, scaleOf } from "../matrices/scales.js";
import { NOT_KEPT } from "../cells/making.js";
import { isSilent } from "../cells/attention_operations.js";
import { forbiddenCells } from "./specs.js";

/** A plate as a figure, with `.grids`. `listen(place)` gives what its grids report to. */
export const plateFigure = (view, spec, listen) => {
  const figure = element("figure", { class: `plate role-${spec.role}`, "data-plate": spec.key });
  figure.spec = spec;
  figure.grids = [];
  figure.append(plateHeading(view, spec));
  if (!isKept(spec)) figure.append(outlineOfMatrix(spec));
  else
    for (const { title, matrix } of gridsOfPlate(view, spec, listen(figure))) {
      if (title) figure.append(element("p", { class: "which-run" }, title));
      figure.append(matrix);
      figure.grids.push(matrix);
    }
  return figure;
};

/** A parameter, or an operand on a narrow screen, as a button that unfolds it. */
export const plateChip = (spec, unfold) =>
  button(
    [
      element("b", { class: "symbol" }, withScripts(spec.caption.symbol)),
      " ",
      element("small", {}, isKept(spec) ? spec.shape.split(" = ")[0] : `${spec.shape}, not in the page`),
    ],
    () => (isKept(spec) ? unfold() : say(NOT_IN_PAGE)),
    {
      class: `plate-chip role-${spec.role}`,
      "data-key": `chip-${spec.key}`,
      "aria-expanded": isKept(spec) ? "false" : null,
      "aria-label": `${spec.caption.title}, ${spec.shape}`,
      title: spec.caption.title,
    },
  );

const NOT_IN_PAGE = "The model has more parameters than a page can carry, so this matrix is not in it.";

/** The grid of a plate; beside another run, the two of them, each with its name. */
const gridsOfPlate = (view, spec, reports) => {
  const title = `${withoutScripts(spec.caption.symbol)}: ${spec.caption.title}`;
  const made = (changes) => grid({ ...spec, ...changes, ...reports });
  if (!spec.other) return [{ matrix: made({ title }) }];
  const [here, beside] = besideTitles(view);
  const { other: panel, otherForbidden: forbidden, otherRowState: rowState } = spec;
  return [
    { title: here, matrix: made({ title: `${title}, ${here}` }) },
    { title: beside, matrix: made({ title: `${title}, ${beside}`, panel, forbidden, rowState }) },
  ];
};

/** What the two runs of a view are called; where only switches differ, with them and without. */
export const besideTitles = ({ run, beside }) => {
  if (isSwitched(run.switches ?? UNSWITCHED) !== isSwitched(beside.switches ?? UNSWITCHED))
    return ["switched", "as the model is"];
  return [run.name ?? run.title, beside.name ?? beside.title];
};

const plateHeading = (view, spec) =>
  element("figcaption", {}, [
    element("p", { class: "plate-title" }, [
      element("b", { class: "symbol" }, withScripts(spec.caption.symbol)),
      " ",
      element("span", {}, spec.caption.title),
    ]),
    element("p", { class: "shape" }, spec.product || spec.shape.split(",")[0]),
    view.beside && spec.tensor && !spec.pick ? differenceOfRuns(spec) : null,
  ]);

/** The largest difference between the two runs of a plate, and where it is; numbers that are the same are said to be. */
const differenceOfRuns = (spec) => {
  if (spec.isSame) return element("p", { class: "largest-difference" }, "the same in both");
  if (!spec.other) return isKept(spec) ? element("p", {}, "the other run has none of this shape") : null;
  const { panel, other, rows, columns } = spec;
  let [most, place] = [0, null];
  for (let row = 0; row < panel.rows; row++) {
    for (let column = 0; column < panel.columns; column++) {
      const difference = apart(panel.at(row, column), other.at(row, column));
      if (difference > most) [most, place] = [difference, [row, column]];
    }
  }
  const at = place && [", at ", chip(rows[place[0]]), columns[place[1]] ? [" × ", chip(columns[place[1]])] : null];
  return element("p", { class: "largest-difference" }, `largest difference ${fourDecimals(most)}`, at);
};

/** A name that may break after its dots alone. */
export const dottedName = (name) =>
  element("code", { class: "dotted" }, [
    name.split(/(?<=\.)/).flatMap((part, place) => (place ? [element("wbr"), part] : [part])),
  ]);

export const codeLine = ({ file, line, text }) =>
  element("span", { class: "code-line" }, [
    element("code", {}, text),
    " ",
    element("small", {}, `${file.split("/").at(-1)}:${line}`),
  ]);

/** The legend of what a plate shows, which says what is hatched in it. */
export const legendOfMatrix = ({ scale, panel, forbidden }) => {
  const isMasked =
    forbidden && numbersOf({ ...panel, at: (row, column) => Number(forbidden(row, column)) }).includes(1);
  return legendOf(scale, isMasked ? "masked" : numbersOf(panel).includes(-Infinity));
};

/** Whether the page has the numbers of a plate: of big models weights are missing, and after a switch more. */
export const isKept = (spec) => Boolean(spec.panel) && !spec.tensor?.unknown;

/** Where the page has no numbers of a matrix, an outline of its shape keeps its place. */
const outlineOfMatrix = ({ panel }) =>
  element("div", { class: "missing-matrix" }, `${panel.rows} × ${panel.columns}`, element("small", {}, NOT_KEPT));

/** Small pictures of a tensor, one for each head: each is a button that chooses its head. */
export const headStrip = async (view, name, choose) => {
  const tensor = view.run.names.includes(name) ? await view.run.get(name) : null;
  const heads = tensor ? headsOfTensor(tensor) : 1;
  if (heads < 2) return null;
  const scale = scaleOf(kindOfNumbers(name), tensor);
  const buttons = Array.from({ length: heads }, (_, head) => headButton(view, { name, tensor, scale }, head, choose));
  return element("div", { class: "head-strip", role: "group", "aria-label": `all ${heads} heads` }, [
    element("span", { class: "label" }, "head ", element("kbd", { title: "keys" }, "[ ]")),
    buttons,
  ]);
};

const THUMB = 34; // pixels

const headButton = (view, { name, tensor, scale }, head, choose) => {
  const panel = panelOf(tensor, head);
  const [width, height] = [THUMB / panel.columns, THUMB / panel.rows];
  const canvas = element("canvas", { "aria-hidden": "true", "--across": `${THUMB}px`, "--down": `${THUMB}px` });
  // The mask may be lifted for one head alone, so each head's is its own.
  forbiddenCells(view.run, name, head).then((forbidden) =>
    paintWhenShown(canvas, { panel, width, height, scale, forbidden }, THUMB, THUMB),
  );
  const chosen = head === view.head;
  const silent = isSilent(view.run, splitName(name).path, head);
  return button([canvas, element("span", {}, `${head}${silent ? " off" : ""}`)], () => choose(head), {
    class: "head role-w",
    pressed: chosen,
    "data-key": `head-${head}`,
    "aria-label": `head ${head}${chosen ? ", chosen" : ""}${silent ? ", silenced" : ""}`,
  });
};
