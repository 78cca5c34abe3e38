// What a stage is made of: signs and plates.

import { productBehind } from "../runs/lineage.js";
import { rowPlate, sizeInWords, tensorPlate, weightPlate } from "./specs.js";

/** `number` is of the notes' seven steps, `sign` what its button says; the last of its items is its result.
 *  @typedef {{ key: string, number: string, sign: string, title: string, items: object[] }} Stage */

/** A matrix with its words; `frames` of an operand tell what of it a cell of the result was made from.
 *  @typedef {{ key: string, name: string, role: string, caption: object, shape: string, panel: Panel, rows: string[],
 *    columns: string[] }} Plate */

export const sign = (text, said) => ({ sign: text, words: said });

export const TIMES = sign("·", "times"),
  PLUS = sign("+", "plus"),
  EQUALS = sign("=", "equals"),
  SOFTMAX = sign("softmax →", "softmax of each row gives");

// What of an operand a cell comes from.
export const ROW = (row) => ({ row });
export const COLUMN = (_, column) => ({ column });
export const CELL = (row, column) => ({ row, column });

export const inBlock = (view, last) => (view.block ? `${view.block}.${last}` : last);
export const resultOf = ({ items }) => items.at(-1);

/** A stage; where its equation ends with "=", its result says the equation in sizes: "(6×64)·(64×16) = (6×16)".
 *  @returns {Stage} */
export const stage = (number, chip, title, items) => {
  const sizes = items.map((item) => (item.sign ? (item === TIMES ? "·" : ` ${item.sign} `) : sizeInWords(item)));
  const product = items.at(-2)?.sign?.endsWith("=") ? sizes.join("") : "";
  const result = { product, ...items.at(-1) };
  return { key: result.name, number, sign: chip, title, items: [...items.slice(0, -1), result] };
};

/** Stages from rows of [number, sign, title, the tensor's last name, items(view, name): else x · W + b]. A worked example
 *  has those that it reaches. */
export const stagesOfRows = async (view, rows) => {
  const stages = [];
  for (const [number, chip, title, last, items = productItems] of rows) {
    const name = inBlock(view, last);
    if (view.run.names.includes(name)) stages.push(stage(number, chip, title, await items(view, name)));
  }
  return stages;
};

/** The items of a result: operands, [name, frames, more of the plate], and between them signs. Of an operand that an
 *  example does not have, the sign before it is left out too. */
export const equation =
  (...parts) =>
  async (view, name) => {
    const nameOf = ([last]) => [inBlock(view, last), last].find((each) => view.run.names.includes(each));
    const operands = parts.filter((part) => Array.isArray(part) && nameOf(part));
    const plates = operands.map((part) => tensorPlate(view, nameOf(part), { frames: part[1], ...part[2] }));
    const signs = operands.map((part, at) =>
      at === operands.length - 1 ? parts.at(-1) : parts[parts.indexOf(part) + 1],
    );
    const items = (await Promise.all(plates)).flatMap((plate, at) => [plate, signs[at]]);
    return [...items, await tensorPlate(view, name)];
  };

/** x · W + b = result. */
const productItems = async (view, name) => {
  const result = await tensorPlate(view, name);
  const product = await productBehind(view.run, name, result.head);
  if (!product) return [result];
  const x = await tensorPlate(view, product.x, { frames: ROW });
  const [{ symbol, title, bias }] = result.caption.weights;
  const count = result.panel.columns;
  const w = { ...weightPlate(product, count, symbol, title, result.role), frames: COLUMN };
  if (!product.bias) return [x, TIMES, w, EQUALS, result];
  const b = rowPlate(product.bias, product.biasName, product.columns, count, bias, "Bias", result.role);
  return [x, TIMES, w, PLUS, { ...b, frames: COLUMN }, EQUALS, result];
};
