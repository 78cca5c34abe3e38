// How a number becomes a colour. The scales are fixed: weights from 0 to 1, everything else around 0, up to
// a round number that holds for all heads of a tensor; so the same shade is the same number. There is one ramp, from
// nothing at 0 to the whole hue at 1, as painting.js paints it and `.shade` of matrices.css has it for elements.

import { element } from "../base/elements.js";
import { splitName } from "../runs/parts.js";

/** What a tensor of this name holds: "weights" lie between 0 and 1, a "mask" is 0 or −∞, the rest "numbers". */
export const kindOfNumbers = (name) => {
  const { last } = splitName(name);
  if (last === "mask") return "mask";
  return last === "weights" || last === "probabilities" ? "weights" : "numbers";
};

/** The scale for these numbers: {kind, most}; give all tensors that are shown side by side. */
export const scaleOf = (kind, ...tensors) => {
  if (kind !== "numbers") return { kind, most: 1 };
  let most = 0;
  for (const tensor of tensors) {
    for (const value of tensor.data) if (Number.isFinite(value) && Math.abs(value) > most) most = Math.abs(value);
  }
  return { kind, most: roundNumber(most) };
};

/** The next of 1, 1.5, 2, 3, 5, 7 times a power of ten. */
const roundNumber = (value) => {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const digit = [1, 1.5, 2, 3, 5, 7, 10].find((step) => step * power >= value * (1 - 1e-9));
  return digit * power;
};

/** How deep the colour is, from −1 (the least) over 0 to 1 (the most); null for −∞, NaN for what is not known. In a
 *  strip, which shows where a vector is large, small numbers are lifted by taking the root. */
export const depthOf = ({ kind, most }, value) => {
  if (Math.abs(value) === Infinity) return null;
  const depth = Math.max(-1, Math.min(1, value / most));
  return kind === "strip" ? Math.sign(depth) * Math.sqrt(Math.abs(depth)) : depth;
};

/** The shades of a scale between its ends. */
export const shadesOf = (scale) => {
  const { kind, most } = scale;
  if (kind === "mask") return "0: may look";
  const parts = kind === "weights" ? [0, 0.25, 0.5, 0.75, 1] : [-1, -0.6, -0.25, 0, 0.25, 0.6, 1];
  const shades = parts.map((part) => element("i", shadeOf(depthOf(scale, part * most))));
  return [plainNumber(parts[0] * most), " ", shades, " ", plainNumber(most)];
};

/** The attributes that give an element its shade. */
export const shadeOf = (depth) => {
  if (depth === null) return { class: "hatched" };
  if (Number.isNaN(depth)) return { class: "unknown" };
  return { class: depth < 0 ? "shade below" : "shade", "--level": Math.abs(depth).toFixed(3) };
};

/** A round number as people write it: 0.5, 20, 3000. */
export const plainNumber = (value) => String(Number(value.toPrecision(6)));

/** The scale of a tensor's colours. Switches do not change it, so that a shade always means the same number. */
export const scaleOfTensor = async (run, name, tensor, other) => {
  const before = await run.unswitched?.get(name);
  const shown = before ? [before] : [tensor, other].filter(Boolean);
  return scaleOf(kindOfNumbers(name), ...shown);
};
