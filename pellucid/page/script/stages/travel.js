// Once for each product: the frame of the left operand's row moves over to the column of the right one, and back.

import { platesOf } from "./field.js";

const SLOWLY = 3200; // milliseconds
const travelled = new Set(); // the stages whose row has travelled
const isStill = matchMedia("(prefers-reduced-motion: reduce)");

/** Let the row travel if a stage shows a product for the first time; never for readers who want no motion. */
export const travelOnce = ({ place, stage, plates }) => {
  if (!place.querySelector(".equation.product") || isStill.matches || travelled.has(stage.key)) return;
  travelled.add(stage.key);
  const frames = platesOf(stage.items).map(({ key }) => plates.get(key).querySelector(".frame"));
  const [row, column] = frames.map((frame) => frame.getBoundingClientRect());
  const at = ({ left, top, width, height }) => ({
    translate: `${left - row.left}px ${top - row.top}px`,
    width: `${width}px`,
    height: `${height}px`,
  });
  const path = [at(row), { ...at(column), offset: 0.5 }, { ...at(column), offset: 0.7 }, at(row)];
  frames[0].animate(path, { duration: SLOWLY, easing: "ease-in-out" });
};
