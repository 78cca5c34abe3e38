// How large the cells of a stage's matrices are: as large as the room allows, with their numbers where these fit.
// The result comes first; operands give way before it does.

import { fourDecimals } from "../base/numbers.js";

const DIGITS = { character: 7.1, beside: 4, row: 18 }; // what a number of four decimals needs, in pixels
const LARGEST = { width: 66, row: 34, painted: 26 };
const HEADING = 76; // of a plate above its cells
const GAP = 44; // between two plates, with a sign
const ROW_SUM = 62;
const CAPTION = 188; // of a plate: it is as wide as this, whatever its cells are
const TITLE = 170; // what stands above a plate is as wide: its cells have that room in any case

/** Give every plate of a stage its {width, height, numbers}; `room` is {width, height}. */
export const fitStage = ({ items }, room, layout) => {
  const plates = items.filter((item) => !item.sign && !item.isFolded);
  if (!plates.length) return;
  const inRow = { ...room, width: room.width - signsWidth(items) };
  if (layout === "product") return fitProduct(plates, room);
  if (layout === "row" && (hasRoom(plates, inRow) || !fitsBelow(plates, room))) return fitRow(plates, inRow);
  for (const plate of plates) fitRow([plate], room);
};

/** Whether matrices have room for their digits beside each other. */
const hasRoom = (plates, { width }) =>
  plates.reduce((sum, plate) => sum + plate.panel.columns * needed(plate) + besideCells(plate) + GAP, 0) <= width;

/** Whether they have it below each other. */
const fitsBelow = (plates, { width, height }) =>
  plates.every((plate) => hasRoom([plate], { width })) &&
  plates.reduce((sum, { panel }) => sum + panel.rows * LARGEST.row + HEADING, 0) <= height;

const signsWidth = (items) =>
  items.reduce((sum, item) => sum + (item.sign ? 8 * item.sign.length : item.isFolded ? 130 : 0), 0);

const labelsWidth = (plate) =>
  Math.min(120, (plate.asks ? 92 : 0) || 16 + 8 * Math.max(1, ...plate.rows.map((label) => [...label].length))) +
  (plate.rowState?.length ? 70 : 0);

const sumWidth = ({ rowSums }) => (rowSums ? ROW_SUM : 0);
const besideCells = (plate) => labelsWidth(plate) + sumWidth(plate);
const within = (least, value, most) => Math.max(least, Math.min(most, Math.floor(value)));

/** The width that the longest number of a plate needs. */
const needed = ({ kind, pick, scale }) => {
  if (kind === "mask" || pick) return pick ? 104 : 28;
  const longest = fourDecimals(kind === "numbers" ? -scale.most : 1);
  return Math.ceil(DIGITS.character * longest.length + DIGITS.beside);
};

/** The size of a cell of this width and height: digits where they fit. */
const cellOfSize = (plate, width, height) => {
  const numbers = width >= needed(plate) && height >= DIGITS.row;
  return { width: numbers ? width : Math.min(width, LARGEST.painted), height, numbers };
};

/** Left operand, right operand above the result: a row and a column meet in their cell. */
const fitProduct = ([left, right, result], room) => {
  const labels = labelsWidth(left) + Math.max(labelsWidth(right), labelsWidth(result));
  const width = room.width - labels - GAP - sumWidth(result) - sumWidth(left);
  const [inner, outer, rows] = [left.panel.columns, result.panel.columns, result.panel.rows];
  const inDigits = inner * needed(left);
  const forLeft =
    left.asks && inDigits <= width / 2
      ? inDigits
      : Math.max(CAPTION - labelsWidth(left), inner * 4, Math.min(width * 0.4, inner * 14));
  let across = within(2, (width - forLeft) / outer, LARGEST.width);
  if (across < needed(result)) across = Math.min(across, LARGEST.painted);
  const along = within(1, (width - outer * across) / inner, LARGEST.width);
  const height = room.height - 2 * HEADING;
  const least = Math.min(height * 0.35, inner * (rows > 12 ? 2 : 9));
  const down = within(4, (height - least) / rows, LARGEST.row);
  const above = within(2, (height - rows * down) / inner, 22);
  result.size = { ...cellOfSize(result, across, down), width: across };
  left.size = cellOfSize(left, along, down);
  right.size = { ...cellOfSize(right, across, above), width: across };
};

const LEAST = 3; // pixels that every column of another plate keeps

/** One after the other: a mask, which needs little room, then the result, then its operands. Each takes its digits if
 *  that leaves room for those after it, else its share of the width. */
const fitRow = (plates, room) => {
  const result = plates.at(-1);
  const masks = plates.filter((plate) => plate.kind === "mask" && plate !== result);
  const inTurn = [...new Set([...masks, result, ...plates])];
  let columns = inTurn.reduce((sum, { panel }) => sum + panel.columns, 0);
  const gaps = plates.length > 1 ? GAP * plates.length : 0;
  let width = room.width - gaps - inTurn.reduce((sum, plate) => sum + besideCells(plate), 0);
  for (const plate of inTurn) {
    const count = plate.panel.columns;
    const share = Math.max(width / columns, (TITLE - labelsWidth(plate)) / count / 2);
    columns -= count;
    const hasDigits = count * needed(plate) + columns * LEAST <= width;
    const most = masks.includes(plate) ? needed(plate) : LARGEST.width;
    const across = within(1, hasDigits ? Math.max(share, needed(plate)) : share, most);
    const down = (room.height - HEADING) / (plate.panel.rows * (plate.other ? 2.4 : 1));
    plate.size = cellOfSize(plate, across, within(2, down, LARGEST.row));
    width -= count * plate.size.width;
  }
};
