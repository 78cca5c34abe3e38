// Draw the field of a stage: its operands and its result, as large as the window allows.

import { element, found, isNarrow, keepFocus, withScripts } from "../base/elements.js";
import { countInWords } from "../base/numbers.js";
import { lookAt, pinCell, showChoice } from "./choice.js";
import { fitStage } from "./fit.js";
import { COLUMN, TIMES, resultOf } from "./equations.js";
import { legendOfPlates, plateChip, plateFigure, symbolOf } from "./plate.js";

/** Return the layout of a stage. "product": two visible matrices are multiplied; a row and a column meet in a cell. */
const layoutOf = ({ items }) => {
  if (isNarrow.matches) return "narrow"; // the result comes first, and its operands are folded
  const [, times, right] = items;
  const isProduct = times === TIMES && !right.isFolded && right.frames === COLUMN && right.panel.rows > 1;
  return isProduct && platesOf(items).length === 3 ? "product" : "row";
};

/** Return the items of a stage that are shown as matrices. */
export const platesOf = (items) => items.filter(({ sign, isFolded }) => !sign && !isFolded);

export const fillField = (drawing) => {
  const { place, stage, unfolded, view } = drawing;
  const field = place.querySelector(".stage-field");
  const result = resultOf(stage);
  for (const item of stage.items)
    item.isFolded = !item.sign && (!item.panel || Boolean(item.folds && !unfolded.has(item.key)));
  const layout = layoutOf(stage);
  fitStage(stage, roomOf(field), layout);
  drawing.plates.clear();
  field.replaceChildren(
    element(`div.equation.${layout}`, layout === "narrow" ? narrowItems(drawing) : itemsOf(drawing, layout)),
    legendOfPlates(layout === "narrow" ? [result] : platesOf(stage.items)),
  );
  if (!stage.items.some((item) => item.isParameter && !item.panel)) return;
  const count = countInWords(view.run.model.parameter_count);
  const note = `${count} parameters: weight matrices are not in this page, their products are.`;
  field.append(element("p.note.outlines", note)); // explains why only shapes are shown
};

/** Return the room for the matrices, in pixels. */
const roomOf = (field) => {
  const width = field.clientWidth || innerWidth - 48;
  const top = field.getBoundingClientRect().top + scrollY;
  const below = (found("dock")?.offsetHeight ?? 0) + 46; // the dock, and the legend
  const height = top > innerHeight / 2 ? innerHeight * 0.6 : innerHeight - top - below;
  return { width: Math.max(200, width), height: Math.max(260, height) };
};

const itemsOf = (drawing, layout) => {
  const { items } = drawing.stage;
  if (layout !== "product") return items.map((item) => itemElement(drawing, item));
  const corner = items.map((item) => itemSymbol(drawing, item));
  const plates = platesOf(items).map((item) => placedPlate(drawing, item));
  ["left", "right", "result"].forEach((area, at) => plates[at].classList.add(`at-${area}`));
  return [element("div.corner", corner), plates];
};

/** Make an item's symbol. For a parameter it is a button that unfolds and folds the matrix. */
const itemSymbol = (drawing, item) => {
  const { sign, words, key, folds, isFolded, role } = item;
  if (sign)
    return element("span.sign", element("span", { "aria-hidden": "true" }, sign), element("span.unseen", words));
  if (!folds && !isFolded) return element(`span.role-${role}`, symbolOf(item));
  return plateChip(item, () => {
    if (!drawing.unfolded.delete(key)) drawing.unfolded.add(key);
    keepFocus(drawing.place, () => {
      fillField(drawing);
      showChoice(drawing);
    });
  });
};

const itemElement = (drawing, item) => {
  if (item.sign || item.isFolded) return itemSymbol(drawing, item);
  const figure = placedPlate(drawing, item);
  if (item.folds) figure.querySelector(".plate-title").append(itemSymbol(drawing, item));
  return figure;
};

/** Make the items for a narrow screen: the result comes first, and its operands unfold below it. */
const narrowItems = (drawing) => {
  const { stage, unfolded } = drawing;
  const result = placedPlate(drawing, resultOf(stage));
  const operands = stage.items.slice(0, -1);
  if (!operands.some(({ sign }) => !sign)) return result;
  const before = operands.at(-1).sign ? operands.slice(0, -1) : operands; // without the "=" at the end
  const title = before.map(({ sign, caption }) => (sign ? ` ${sign} ` : withScripts(caption.symbol)));
  const toggle = () => unfolded[fold.open ? "add" : "delete"]("operands");
  const fold = element("details.operands", { open: unfolded.has("operands"), toggle }, [
    element("summary.symbol", element("span", "from ", title)),
    operands.map((item) => itemElement(drawing, item)),
    legendOfPlates(platesOf(operands)),
  ]);
  return [result, fold];
};

const placedPlate = (drawing, spec) => {
  const figure = plateFigure(drawing.view, spec, (each) => ({
    onLook: (row, column, how) => lookAt(drawing, { figure: each, row, column }, how),
    onLeave: () => lookAt(drawing, drawing.rest, "rest"),
    onPin: (row, column) => pinCell(drawing, { figure: each, row, column }),
  }));
  drawing.plates.set(spec.key, figure);
  return figure;
};

/** Scale equations to the width of the paper while the page is printed. */
matchMedia("print").addEventListener("change", ({ matches }) => {
  for (const equation of document.querySelectorAll(".equation"))
    equation.style.zoom = matches ? Math.min(1, equation.parentElement.clientWidth / equation.scrollWidth) : "";
});
