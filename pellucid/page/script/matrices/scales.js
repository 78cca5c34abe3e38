// Turn numbers into colours. Weights have a scale from 0 to 1; other numbers have a scale around 0, up to a round
// number that is the same for all heads of a tensor. So the same shade always means the same number. Opacity grows from
// 0 (for 0) to 1 (for the largest number), in pictures (painting.js) and in elements (`.shade` in matrices.css).

import { element } from "../base/elements.js";
import { splitName } from "../runs/parts.js";

/** Return the kind of a tensor's numbers: "weights" (from 0 to 1), "mask" (0 or −∞) or "numbers". */
export const kindOfNumbers = (name) => {
  const { last } = splitName(name);
  if (last === "mask") return "mask";
  return last === "weights" || last === "probabilities" ? "weights" : "numbers";
};

/** Return the scale for these tensors, {kind, most}. Pass all tensors that are shown side by side. */
export const scaleOf = (kind, ...tensors) => {
  if (kind !== "numbers") return { kind, most: 1 };
  let most = 0;
  for (const tensor of tensors) {
    for (const value of tensor.data) if (Number.isFinite(value) && Math.abs(value) > most) most = Math.abs(value);
  }
  return { kind, most: roundNumber(most) };
};

/** Round up to 1, 1.5, 2, 3, 5 or 7 times a power of ten. */
const roundNumber = (value) => {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 5, 7, 10].find((step) => step * power >= value * (1 - 1e-9)) * power;
};

/** Return the depth of a number's colour, from −1 (most negative) to 1; null for −∞, NaN for an unknown number. A strip
 *  shows the square root of the depth, so that small numbers are visible too. */
export const depthOf = ({ kind, most }, value) => {
  if (Math.abs(value) === Infinity) return null;
  const depth = Math.max(-1, Math.min(1, value / most));
  return kind === "strip" ? Math.sign(depth) * Math.sqrt(Math.abs(depth)) : depth;
};

/** Show some shades of a scale, between its smallest and its largest number. */
export const shadesOf = (scale) => {
  const { kind, most } = scale;
  if (kind === "mask") return "0: may look";
  const parts = kind === "weights" ? [0, 0.25, 0.5, 0.75, 1] : [-1, -0.6, -0.25, 0, 0.25, 0.6, 1];
  const shades = parts.map((part) => element("i", shadeOf(depthOf(scale, part * most))));
  return [plainNumber(parts[0] * most), " ", shades, " ", plainNumber(most)];
};

/** Return the attributes that give an element its shade. */
export const shadeOf = (depth) => {
  if (depth === null) return { class: "hatched" };
  if (Number.isNaN(depth)) return { class: "unknown" };
  return { class: depth < 0 ? "shade below" : "shade", "--level": Math.abs(depth).toFixed(3) };
};

/** Write a round number as people do: 0.5, 20, 3000. */
export const plainNumber = (value) => String(Number(value.toPrecision(6)));

/** Return the scale of a tensor's colours. Switches do not change it, so that a shade always means the same number. */
export const scaleOfTensor = async (run, name, tensor, other) => {
  const before = await run.unswitched?.get(name);
  return scaleOf(kindOfNumbers(name), ...(before ? [before] : [tensor, other].filter(Boolean)));
};
