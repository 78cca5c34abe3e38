// Choose the size of the cells of a stage's matrices. Cells are as large as the room allows, and show their numbers if
// these fit. To make numbers fit, cells have three or two decimals, or matrices side by side share their row labels.

import { sumOf } from "../base/numbers.js";
import { measuresOf, widthOf } from "./measures.js";

const LARGEST = { digits: 66, painted: 26, row: 34, above: 22 };
const GAP = 8; // the space between the items of a line, in pixels, as all sizes here
const LINES = 13; // the space between two lines
const THIN = 4; // the least height of a painted row
const FOLDED = 130; // the width of a folded matrix
const MARGIN = 8; // the space beside a token above its column
const LEVEL = 20; // the height of tokens that are written horizontally

/** Give every plate of a stage its `size`; `room` is {width, height}. */
export const fitStage = ({ items }, room, layout) => {
  const measured = items.map((item) => {
    if (item.sign) return { width: widthOf(item.sign, "500 19px") };
    return item.isFolded ? { width: FOLDED } : measuresOf(item);
  });
  const plates = measured.filter(({ plate }) => plate);
  if (layout === "product") return firstThatFits(plates, (way) => fitProduct(plates, way, room));
  if (layout === "row") {
    const below = [measured.slice(0, -1), measured.slice(-1)].filter(({ length }) => length);
    return firstThatFits(plates, (way) => fitLines(way.isBelow ? below : [measured], way, room));
  }
  for (const each of plates) {
    const height = Math.max(room.height, 150 + each.rows * each.row); // a narrow screen scrolls
    firstThatFits([each], (way) => fitLines([[each]], way, { ...room, height }));
  }
};

/** Try ways to fit plates, best first, until `fit` returns true; otherwise the last way is used. Which plates show
 *  digits: all, all but one operand, the result, none. How they stand: in a row, in a row with shared labels, the
 *  result below its operands. How many decimals: four, three, two. Painted columns are at least `least` pixels wide. */
const firstThatFits = (plates, fit) => {
  const cost = ({ plate, count }) => (plate.kind === "mask" ? Infinity : count); // a mask needs no digits
  const operands = plates.slice(0, -1).toSorted((one, other) => cost(other) - cost(one));
  const without = operands.map((operand) => plates.filter((each) => each !== operand));
  const decimalsTried = document.body.dataset.look === "lecture" ? [2] : [4, 3, 2];
  const ways = [plates, ...without, plates.slice(-1), []].flatMap((digits) =>
    [{}, { isShared: true }, { isBelow: true, least: 2 }].flatMap((place) =>
      decimalsTried.map((decimals) => ({ least: 7, row: 15, digits, decimals, ...place })),
    ),
  );
  [...ways, { least: 1, row: 2, digits: [], decimals: 4 }].some(fit);
};

/** Return the least and the largest width of a plate's columns beside its `labels`, and the plate's least width. */
const boundsOf = (each, way, labels) => {
  const { count, sum, caption, digits, token } = each;
  const hasDigits = way.digits.includes(each);
  const needed = hasDigits ? digits[way.decimals] : way.least;
  const most = hasDigits ? Math.max(needed, LARGEST.digits) : LARGEST.painted;
  const least = Math.max(needed, Math.min(most, (caption - labels - sum) / count)); // at least as wide as its caption
  const level = Math.min(most, Math.max(least, token + MARGIN));
  return { count, least, level, most, width: Math.max(caption, labels + sum + count * least) };
};

/** Return the widths of columns that share the free room. If there is room, all columns first become so wide that their
 *  tokens can be written horizontally; the rest is shared in proportion. */
const widthsOf = (bounds, free) => {
  const toLevel = total(bounds, ({ count, least, level }) => count * (level - least));
  const isLevel = toLevel <= free;
  const starts = bounds.map(({ least, level }) => (isLevel ? level : least));
  const wished = total(bounds, ({ count, most }, at) => count * (most - starts[at]));
  const share = Math.max(0, Math.min(1, (free - (isLevel ? toLevel : 0)) / (wished || 1)));
  return bounds.map(({ most }, at) => Math.floor(starts[at] + share * (most - starts[at])));
};

const total = (list, of) => sumOf(list.map(of));
const largest = (list, of) => Math.max(...list.map(of));
const topOf = ({ plate, top }) => top + plate.size.head * (plate.other ? 2 : 1);

/** Set the size of a plate from the width of its columns. */
const setSize = (each, way, width, labels, isShared) => {
  const isUpright = each.token > 0 && each.token + MARGIN > width;
  const head = isUpright ? each.token + 12 : LEVEL;
  const numbers = way.digits.includes(each);
  each.plate.size = { width, numbers, decimals: way.decimals, labels, isShared, isUpright, head };
};

/** Fit lines of plates and signs. Return whether there is enough room. */
const fitLines = (lines, way, room) => {
  const isRoom = lines.map((line) => fitWidths(line, way, room.width));
  const plates = lines.map((line) => line.filter(({ plate }) => plate));
  for (const line of plates) {
    const head = largest(line, ({ plate }) => plate.size.head);
    for (const { plate } of line) plate.size.head = head; // so that rows of plates side by side align
  }
  const rows = total(plates, (line) => largest(line, (each) => each.rows));
  const height = room.height - total(plates, (line) => largest(line, topOf) + LINES);
  const down = Math.min(LARGEST.row, Math.floor(height / rows));
  for (const { plate } of plates.flat()) plate.size.height = Math.max(2, down);
  return isRoom.every(Boolean) && plates.flat().every((each) => down >= leastRow(each, way));
};

const leastRow = ({ plate, row }, way) => (plate.size.numbers ? row : way.row);

const fitWidths = (line, way, room) => {
  const plates = line.filter(({ plate }) => plate);
  const [{ plate: first }] = plates;
  const isShared = ({ plate }) => Boolean(way.isShared) && plate !== first && plate.rows.join() === first.rows.join();
  const labels = (each) => (isShared(each) ? 0 : each.labels);
  const bounds = plates.map((each) => boundsOf(each, way, labels(each)));
  const between = line.filter(({ plate }) => !plate);
  const free = room - total([...bounds, ...between], ({ width }) => width) - GAP * (line.length - 1);
  widthsOf(bounds, free).forEach((width, at) =>
    setSize(plates[at], way, width, labels(plates[at]), isShared(plates[at])),
  );
  return free >= 0;
};

/** Fit a product, with the right operand above the result: a row and a column meet in their cell. The result needs no
 *  labels, because its rows have the labels of the left operand, and its columns the labels of the right operand. */
const fitProduct = ([left, right, result], way, room) => {
  const isShared = Boolean(way.isShared);
  const labels = Math.max(right.labels, isShared ? 0 : result.labels);
  const bounds = [boundsOf(left, way, left.labels), columnOf([right, result], way, labels)];
  const free = room.width - total(bounds, ({ width }) => width) - 2 * GAP;
  const [along, across] = widthsOf(bounds, free);
  setSize(left, way, along, left.labels, false);
  setSize(right, way, across, labels, false);
  setSize(result, way, across, labels, isShared);
  if (isShared) result.plate.size.head = 0;
  const height = room.height - topOf(right) - largest([left, result], topOf) - 2 * GAP;
  const least = right.plate.size.numbers ? right.row : THIN;
  const most = right.plate.size.numbers ? LARGEST.row : LARGEST.above;
  const down = Math.min(LARGEST.row, Math.floor((height - right.rows * least) / result.rows));
  const above = Math.min(most, Math.floor((height - result.rows * down) / right.rows));
  left.plate.size.height = result.plate.size.height = Math.max(2, down);
  right.plate.size.height = Math.max(2, above);
  return free >= 0 && above >= least && [left, result].every((each) => down >= leastRow(each, way));
};

/** Return one `boundsOf` for plates that stand one above the other, so that their columns are equally wide. */
const columnOf = (plates, way, labels) => {
  const all = plates.map((each) => boundsOf(each, way, labels));
  const [least, level, most] = ["least", "level", "most"].map((end) => largest(all, (each) => each[end]));
  const width = largest(plates, ({ caption, sum, count }) => Math.max(caption, labels + sum + count * least));
  return { count: plates[0].count, least, level, most, width };
};
