// A plate shows a matrix with its symbol, name and shape. A folded plate is a button; without numbers it is a label.

import { button, chip, element, keysOf, withScripts, withoutScripts } from "../base/elements.js";
import { apart, fourDecimals, largestCell, numbersOf, panelsOf } from "../base/numbers.js";
import { splitName } from "../runs/parts.js";
import { UNSWITCHED, isSwitched } from "../runs/switches.js";
import { grid } from "../matrices/grid.js";
import { LEAST_WITH_DASH, thumbnail } from "../matrices/painting.js";
import { kindOfNumbers, scaleOf, shadesOf } from "../matrices/scales.js";
import { isSilent } from "../cells/attention_operations.js";
import { forbiddenCells } from "./specs.js";

/** Make a figure of a plate with one grid, or two beside another run. `listen(figure)` returns the event handlers. */
export const plateFigure = (view, spec, listen) => {
  const { key, role, caption, product, shape } = spec;
  const figure = element(`figure.plate.role-${role}`, { "data-plate": key }, [
    element("figcaption", [
      element("p.plate-title", symbolOf(spec), " ", element("span", caption.title)),
      element("p.shape", product || shape.split(",")[0]),
      view.beside && spec.tensor && !spec.pick && differenceOfRuns(spec),
    ]),
  ]);
  Object.assign(figure, { spec, grids: [] });
  const { other, otherForbidden, otherLabels } = spec;
  const [here, beside] = other ? besideTitles(view) : [];
  const ofOther = other && { which: beside, panel: other, forbidden: otherForbidden, ...otherLabels };
  for (const { which, ...shown } of [{ which: here }, ofOther].filter(Boolean)) {
    const title = `${withoutScripts(caption.symbol)}: ${caption.title}${which ? `, ${which}` : ""}`;
    const matrix = grid({ ...spec, ...shown, title, ...listen(figure) });
    figure.append(...(which ? [element("p.which-run", which)] : []), matrix);
    figure.grids.push(matrix);
  }
  return figure;
};

export const symbolOf = ({ caption }) => element("b.symbol", withScripts(caption.symbol));

/** Make a button that unfolds and folds a parameter's matrix; if the page does not have its numbers, a label. */
export const plateChip = (spec, unfold) => {
  const { caption, shape, key, role, isFolded } = spec;
  const properties = { class: `plate-chip role-${role}`, title: caption.title };
  if (!spec.panel)
    return element("span", properties, symbolOf(spec), " ", element("small", `${shape}, not in the page`));
  return button([symbolOf(spec), " ", isFolded ? element("small", shape.split(" = ")[0]) : "▾"], unfold, {
    ...properties,
    "data-key": `chip-${key}`,
    "aria-expanded": String(!isFolded),
    "aria-label": isFolded ? `${caption.title}, ${shape}` : `fold ${caption.title}`,
  });
};

/** Return the names of a view's two runs; if only switches differ, "switched" and "as the model is". */
export const besideTitles = ({ run, beside }) => {
  if (isSwitched(run.switches ?? UNSWITCHED) !== isSwitched(beside.switches ?? UNSWITCHED))
    return ["switched", "as the model is"];
  return [run, beside].map(({ name, title }) => (beside.name && name) || title);
};

/** Say where the two runs of a plate differ most, and by how much, or that they are equal. */
const differenceOfRuns = (spec) => {
  const { panel, other, rows, columns } = spec;
  if (spec.isSame) return element("p.largest-difference", "the same in both");
  if (!other) return element("p", "the other run has none of this shape");
  const difference = { ...panel, at: (r, c) => apart(panel.at(r, c), other.at(r, c)) };
  const { row, column, value = 0 } = largestCell([difference]) ?? {};
  const at = [", at ", chip(rows[row]), columns[column] && [" × ", chip(columns[column])]];
  const inOne = numbersOf(difference).filter((each) => each === Infinity).length;
  const forbidden = inOne > 0 && `${inOne} of the cells are −∞ in one alone; else `;
  return element("p.largest-difference", forbidden, `largest difference ${fourDecimals(value)}`, value > 0 && at);
};

/** Make the legend of these plates: the colour scale of each matrix, in its hue. */
export const legendOfPlates = (specs) => {
  const matrices = [...new Map(specs.map((spec) => [spec.caption.symbol, spec])).values()]; // one for all heads
  const numbers = specs.flatMap(({ panel }) => [...numbersOf(panel)]);
  const isMasked = specs.some(({ forbidden }) => forbidden);
  const hatched = [numbers.includes(-Infinity) && "−∞", isMasked && "masked: exactly 0"].filter(Boolean).join(", ");
  const hasDashes = ({ numbers: digits, width, height }) => !digits && Math.min(width, height) >= LEAST_WITH_DASH;
  const isDashed = specs.some(({ scale, size }) => scale.kind === "numbers" && hasDashes(size));
  return element("p.legend", { class: isDashed && "dashed" }, [
    matrices.map((spec) => element(`span.legend-scale.role-${spec.role}`, symbolOf(spec), " ", shadesOf(spec.scale))),
    hatched && element("span.legend-scale", element("i.hatched"), ` ${hatched}`),
    isDashed && element("span", "dash: clearly below 0"),
  ]);
};

const THUMB = 34; // pixels

/** Make small pictures of a tensor, one for each head. Each is a button that chooses its head. */
export const headStrip = async ({ run, head: chosen }, name, choose) => {
  const tensor = run.names.includes(name) ? await run.get(name) : null;
  const panels = tensor ? panelsOf(tensor) : [];
  if (panels.length < 2) return null;
  const scale = scaleOf(kindOfNumbers(name), tensor);
  const headButton = async (panel, head) => {
    const forbidden = await forbiddenCells(run, name, head); // one head may have no mask
    const thumb = thumbnail({ panel, scale, forbidden }, THUMB, THUMB);
    const silent = isSilent(run, splitName(name).path, head);
    return button([thumb, element("span", `${head}${silent ? " off" : ""}`)], () => choose(head), {
      class: "head role-w",
      pressed: head === chosen,
      "data-key": `head-${head}`,
      "aria-label": `head ${head}${head === chosen ? ", chosen" : ""}${silent ? ", silenced" : ""}`,
    });
  };
  return element("div.head-strip", { role: "group", "aria-label": `all ${panels.length} heads` }, [
    element("span.label", "head ", keysOf("[", "]")),
    await Promise.all(panels.map(headButton)),
  ]);
};
