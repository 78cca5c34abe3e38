// Numbers as a picture: each cell in one hue, more opaque for a larger number.

import { element } from "../base/elements.js";
import { depthOf } from "./scales.js";

const painted = new Set(); // canvases, painted again when light turns to dark, and for paper

export const LEAST_WITH_DASH = 7; // pixels: smaller cells have no room for the dash of what is below zero

/** A canvas with the cells of {panel, width, height, scale, forbidden}: painted when it comes into sight, because its
 *  colours are those of its place. */
export const picture = (matrix, properties) => {
  const canvas = element("canvas", properties);
  canvas.paint = () => paintCells(canvas, matrix);
  painted.add(new WeakRef(canvas));
  const paintOnce = (entries, observer) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    canvas.paint();
  };
  new IntersectionObserver(paintOnce, { rootMargin: "400px" }).observe(canvas);
  return canvas;
};

/** Vectors as a small strip that the style stretches, a pixel for each number; `says` is what it shows. */
export const stripPicture = (panel, most, says) =>
  picture(
    { panel, width: 1, height: 1, scale: { kind: "strip", most } },
    { class: "role-x", role: "img", "aria-label": says },
  );

const paintAgain = () => {
  for (const reference of painted) {
    const canvas = reference.deref();
    if (canvas?.isConnected) canvas.paint();
    else if (!canvas) painted.delete(reference);
  }
};

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paintAgain);

addEventListener("beforeprint", paintAgain);

const paintCells = (canvas, matrix) => {
  const { panel, width, height } = matrix;
  const [across, down] = [panel.columns * width, panel.rows * height];
  const density = across * down > 2e6 ? 1 : devicePixelRatio;
  Object.assign(canvas, { width: across * density, height: down * density });
  const brush = canvas.getContext("2d");
  brush.scale(density, density);
  const style = getComputedStyle(canvas);
  const [above, below, paper] = ["--hue", "--below", "--paper"].map((name) => style.getPropertyValue(name));
  const colours = { above, below, paper, ink: style.color };
  for (let row = 0; row < panel.rows; row++)
    for (let column = 0; column < panel.columns; column++) paintCell(brush, matrix, row, column, colours);
};

const paintCell = (brush, { panel, width, height, scale, forbidden }, row, column, { above, below, paper, ink }) => {
  const [x, y] = [column * width, row * height];
  const depth = depthOf(scale, panel.at(row, column));
  if (depth === null || forbidden?.(row, column)) return hatch(brush, x, y, width, height, ink);
  brush.globalAlpha = Math.abs(depth) || 0; // what is not known is left blank
  brush.fillStyle = depth < 0 ? below : above;
  brush.fillRect(x, y, width, height);
  if (depth > -0.15 || Math.min(width, height) < LEAST_WITH_DASH) return undefined;
  brush.globalAlpha = 1; // what is below zero has a dash, so that the sign is not told by colour alone
  brush.fillStyle = paper;
  return brush.fillRect(x + width / 4, y + height / 2 - 0.75, width / 2, 1.5);
};

const hatch = (brush, x, y, width, height, ink) => {
  brush.globalAlpha = 0.45;
  brush.strokeStyle = ink;
  brush.beginPath();
  for (let from = 0; from < width + height; from += Math.max(4, Math.min(width, height) / 3)) {
    brush.moveTo(x + Math.max(0, from - height), y + Math.min(from, height));
    brush.lineTo(x + Math.min(from, width), y + Math.max(0, from - width));
  }
  brush.stroke();
};
