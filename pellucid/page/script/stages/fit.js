// How large the cells of a stage's matrices are: as large as the room allows, with their digits where these fit. Rather
// than lose digits, cells have three or two decimals, and matrices beside each other share their row labels.

import { sumOf } from "../base/numbers.js";
import { measuresOf, widthOf } from "./measures.js";

const LARGEST = { digits: 66, painted: 26, row: 34, above: 22 };
const GAP = 8; // between the items of a line
const LINES = 13; // between two lines
const THIN = 4; // a row of numbers that are only seen
const FOLDED = 130; // a folded matrix
const MARGIN = 8; // beside a token above its column
const LEVEL = 20; // the height of tokens that stand level

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
  return undefined;
};

/** Fit plates in the best way for which `fit` returns true; if there is none, the last way stays. The best is with the
 *  digits of all, then of all but one operand, of the result, of none; in a row, in a row with the labels of its first
 *  plate alone, the result below its operands; with four, three or two decimals. What is painted has columns of `least` pixels. */
const firstThatFits = (plates, fit) => {
  const cost = ({ plate, count }) => (plate.kind === "mask" ? Infinity : count); // a painted mask tells all
  const operands = plates.slice(0, -1).toSorted((one, other) => cost(other) - cost(one));
  const without = operands.map((operand) => plates.filter((each) => each !== operand));
  const ways = [plates, ...without, plates.slice(-1), []].flatMap((digits) =>
    [{}, { isShared: true }, { isBelow: true, least: 2 }].flatMap((place) =>
      [4, 3, 2].map((decimals) => ({ least: 7, row: 15, digits, decimals, ...place })),
    ),
  );
  [...ways, { least: 1, row: 2, digits: [], decimals: 4 }].some(fit);
};

/** How wide the columns of a plate may be beside its `labels`, and how wide it is with the least. */
const boundsOf = (each, way, labels) => {
  const { count, sum, caption, digits, token } = each;
  const hasDigits = way.digits.includes(each);
  const needed = hasDigits ? digits[way.decimals] : way.least;
  const most = hasDigits ? Math.max(needed, LARGEST.digits) : LARGEST.painted;
  const least = Math.max(needed, Math.min(most, (caption - labels - sum) / count)); // its caption has that room anyway
  const level = Math.min(most, Math.max(least, token + MARGIN));
  return { count, least, level, most, width: Math.max(caption, labels + sum + count * least) };
};

/** Widths of columns that share the free room: first so much that the tokens above them stand level, if there is room
 *  for that in all; then alike, up to the most. */
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

/** What follows from the width of a plate's columns. */
const setSize = (each, way, width, labels, isShared) => {
  const isUpright = each.token > 0 && each.token + MARGIN > width;
  const head = isUpright ? each.token + 12 : LEVEL;
  const numbers = way.digits.includes(each);
  each.plate.size = { width, numbers, decimals: way.decimals, labels, isShared, isUpright, head };
};

/** Fit lines of plates, with what stands between these; returns whether there is room. */
const fitLines = (lines, way, room) => {
  const isRoom = lines.map((line) => fitWidths(line, way, room.width));
  const plates = lines.map((line) => line.filter(({ plate }) => plate));
  for (const line of plates) {
    const head = largest(line, ({ plate }) => plate.size.head);
    for (const { plate } of line) plate.size.head = head; // rows beside each other stand level
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

/** Fit a product, the right operand above the result: a row and a column meet in their cell. The result may do without
 *  labels: its rows have the left operand's, its columns the right one's. */
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

/** Plates above each other, whose columns are equally wide. */
const columnOf = (plates, way, labels) => {
  const all = plates.map((each) => boundsOf(each, way, labels));
  const [least, level, most] = ["least", "level", "most"].map((end) => largest(all, (each) => each[end]));
  const width = largest(plates, ({ caption, sum, count }) => Math.max(caption, labels + sum + count * least));
  return { count: plates[0].count, least, level, most, width };
};
