// What a stage is made of: signs, plates, and what of an operand a cell of the result comes from.

import { numbered, panelOf } from "../base/numbers.js";
import { productBehind } from "../runs/lineage.js";
import { parameterPlate, productOfShapes, rowPlate, tensorPlate, weightPlate } from "./specs.js";

export const sign = (text, said) => ({ sign: text, words: said });

export const TIMES = sign("·", "times"),
  PLUS = sign("+", "plus"),
  EQUALS = sign("=", "equals");

export const stage = (number, chip, title, items) => ({ key: items.at(-1).name, number, sign: chip, title, items });
export const resultOf = ({ items }) => items.at(-1);

// What of an operand a cell comes from.
export const ROW = (row) => ({ row });
export const COLUMN = (_, column) => ({ column });
export const CELL = (row, column) => ({ row, column });
export const inBlock = (view, last) => (view.block ? `${view.block}.${last}` : last);

/** x · W + b = result. */
export async function productItems(view, name) {
  const result = await tensorPlate(view, name);
  const product = await productBehind(view.run, name, result.head);
  if (!product) return [result];
  const x = { ...(await inputPlate(view, product)), frames: ROW };
  const [{ symbol, title, bias }] = result.caption.weights;
  const count = result.panel.columns;
  const w = { ...weightPlate(product, count, symbol, title, result.role), frames: COLUMN };
  const biasName = product.weightName.replace(/weight$/, "bias");
  const added = product.bias
    ? [PLUS, { ...rowPlate(product.bias, biasName, product.columns, count, bias, "Bias", result.role), frames: COLUMN }]
    : [];
  const shapes = productOfShapes(x.panel, { rows: x.panel.columns, columns: count });
  return [x, TIMES, w, ...added, EQUALS, { ...result, product: shapes }];
}

/** What a part reads, as the X of its product; in a worked example a matrix that was given. */
export const inputPlate = (view, { x, xTensor }) => {
  const { names, labels } = view.run;
  if (names.includes(x)) return tensorPlate(view, x);
  const panel = panelOf(xTensor);
  const isAsking = x === "inputs" && names.includes("queries");
  return {
    ...parameterPlate({
      name: x,
      symbol: x === "inputs" ? "X" : "Y",
      title: x === "inputs" ? "Inputs" : "Memory",
      role: "x",
      tensor: xTensor,
      word: "input",
      shape: `${panel.rows} × ${panel.columns}`,
      panel,
      rows: isAsking ? labels("queries", "L") : labels(names.includes("keys") ? "keys" : "values", "M"),
      columns: numbered(panel.columns),
    }),
    folds: false,
  };
};
