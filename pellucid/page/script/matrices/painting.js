// Paint numbers as a picture: all cells have the same hue, and a larger number is more opaque.

import { element } from "../base/elements.js";
import { depthOf } from "./scales.js";

const painted = new Set(); // canvases to repaint when the colour scheme changes, and before printing

export const LEAST_WITH_DASH = 7; // pixels: a smaller cell has no room for the dash of a negative number

/** Make a canvas with the cells of {panel, width, height, scale, forbidden}. It is painted when it becomes visible,
 *  because its colours come from the CSS of the element around it. */
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

/** Make a small picture of a matrix, so many pixels wide and high; the text beside it says what it is. */
export const thumbnail = ({ panel, scale, forbidden }, across, down) =>
  picture(
    { panel, width: across / panel.columns, height: down / panel.rows, scale, forbidden },
    { "aria-hidden": "true", "--across": `${across}px`, "--down": `${down}px` },
  );

/** Paint vectors as a small picture with one pixel for each number, which CSS stretches. `says` describes it. */
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
  brush.globalAlpha = Math.abs(depth) || 0; // unknown numbers stay blank
  brush.fillStyle = depth < 0 ? below : above;
  brush.fillRect(x, y, width, height);
  if (depth > -0.15 || Math.min(width, height) < LEAST_WITH_DASH) return undefined;
  brush.globalAlpha = 1; // negative numbers also have a dash, so that the sign does not depend on colour alone
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
