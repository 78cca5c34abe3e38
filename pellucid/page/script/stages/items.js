// What a stage is made of: signs, plates, and what of an operand a cell of the result comes from.

import { productBehind } from "../runs/lineage.js";
import { productOfShapes, rowPlate, tensorPlate, weightPlate } from "./specs.js";

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
  const x = await tensorPlate(view, product.x, { frames: ROW });
  const [{ symbol, title, bias }] = result.caption.weights;
  const count = result.panel.columns;
  const w = { ...weightPlate(product, count, symbol, title, result.role), frames: COLUMN };
  const added = product.bias
    ? [
        PLUS,
        {
          ...rowPlate(product.bias, product.biasName, product.columns, count, bias, "Bias", result.role),
          frames: COLUMN,
        },
      ]
    : [];
  const shapes = productOfShapes(x.panel, { rows: x.panel.columns, columns: count });
  return [x, TIMES, w, ...added, EQUALS, { ...result, product: shapes }];
}
