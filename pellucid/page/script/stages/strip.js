// The bar of a part's stages, each with its matrix in small. A cell at which one points lights, in all of them, what it
// was made from and what is made from it.

import { button, element, withScripts } from "../base/elements.js";
import { roam } from "../base/roam.js";
import { thumbnail } from "../matrices/painting.js";

const [ACROSS, DOWN] = [54, 28]; // pixels of a small matrix

/** Make the bar, with a button for each stage, in the order of computation. */
export const stageBar = (drawing) => {
  const { stages, stage, changed, view } = drawing;
  const choose = (key) => view.select({ tensor: key, row: null, column: null });
  const bar = element("nav.stage-bar", { "aria-label": "the steps" }, [
    stages.map(({ key, number, sign, title, items }, at) => {
      const isNew = number && number !== stages[at - 1]?.number;
      const signs = element("span.signs", [
        isNew && element("span.step-number", number),
        element("span", withScripts(sign)),
        changed.has(key) && element("small.plate-changed", "changed"),
        view.markOf?.(key),
      ]);
      const current = key === stage.key ? "step" : null;
      const properties = { "data-key": `stage-${key}`, "aria-current": current, title };
      return button([signs, smallMatrix(drawing, items.at(-1))], () => choose(key), properties);
    }),
  ]);
  bar.addEventListener("pointerleave", () => lightStrip(drawing, drawing.rest.figure.spec, drawing.rest));
  roam(bar);
  return bar;
};

const smallMatrix = (drawing, spec) => {
  const { rows, columns } = spec.panel;
  const within = (share, count) => Math.max(0, Math.min(count - 1, Math.floor(share * count)));
  const pointermove = ({ offsetX, offsetY }) =>
    lightStrip(drawing, spec, { row: within(offsetY / DOWN, rows), column: within(offsetX / ACROSS, columns) });
  const small = element(`span.small-matrix.role-${spec.role}`, { pointermove }, thumbnail(spec, ACROSS, DOWN));
  return Object.assign(small, { spec });
};

/** Light in every small matrix what belongs to a cell of a plate. */
export const lightStrip = ({ bar, stages }, spec, { row, column }) => {
  const lit = areasOf(stages, spec, spec.transposed ? { row: column, column: row } : { row, column });
  const lines = (place, count) => (place === undefined ? 1 : count); // all of them are one
  for (const small of bar.querySelectorAll(".small-matrix")) {
    const { name, panel } = small.spec;
    const frame = ({ row: r, column: c }) =>
      element("i", { "--row": r, "--rows": lines(r, panel.rows), "--column": c, "--columns": lines(c, panel.columns) });
    small.replaceChildren(small.firstChild, ...lit.get(name).areas.map(frame));
  }
};

/** Return, by the name of each tensor, the areas {row, column} from which a cell was made and which are made from it. An
 *  area without a row or without a column has all of them. */
const areasOf = (stages, spec, cell) => {
  const lit = new Map(stages.map(({ items }) => [items.at(-1).name, { head: items.at(-1).head, areas: [] }]));
  /** Add an area of a shown matrix, of its shown head; return whether it is new. */
  const add = ({ name, head }, area) => {
    const { areas, head: shown } = lit.get(name) ?? {};
    if (shown !== head || areas.some(({ row, column }) => row === area.row && column === area.column)) return false;
    return areas.push(area);
  };
  const turned = ({ transposed }, { row, column }) => (transposed ? { row: column, column: row } : { row, column });
  const back = (item, area) => {
    if (!add(item, area)) return;
    const operands = stages.find(({ key }) => key === item.name).items.slice(0, -1);
    for (const operand of operands.filter(({ frames }) => frames)) {
      const from = operand.frames(area.row, area.column);
      if (from) back(operand, turned(operand, from));
    }
  };
  const forth = ({ name, head }, area) => {
    for (const { items } of stages)
      for (const item of items.slice(0, -1).filter((each) => each.name === name && each.head === head && each.frames)) {
        const { row, column } = turned(item, area);
        const has = item.frames(0, 0) ?? {};
        const kept = { row: "row" in has ? row : undefined, column: "column" in has ? column : undefined };
        const made = item.into?.({ row, column }) ?? kept;
        if (add(items.at(-1), made)) forth(items.at(-1), made);
      }
  };
  back(spec, cell);
  forth(spec, cell);
  return lit;
};
