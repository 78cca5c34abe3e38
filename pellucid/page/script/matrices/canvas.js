// A matrix that is painted: for many cells, in colour only. One element stands for the chosen cell, so that
// a screen reader hears what the eye sees, and moving costs no painting.

import { element, words } from "../base/elements.js";
import { cellInWords, headingsOf } from "./cell_words.js";
import { DEEPEST, depthOf } from "./scales.js";

/** {element, show(row, column, focus), cellAt(event)} for a grid's matrix. */
export const canvasOfCells = (matrix) => {
  const { panel, width, height } = matrix;
  const [across, down] = [panel.columns * width, panel.rows * height];
  const sizes = { "--cell": `${width}px`, "--row": `${height}px` };
  const canvas = element("canvas", { "aria-hidden": "true" });
  const ring = element("div", { class: "ring", ...sizes });
  const labels = rowLabels(matrix);
  const spoken = spokenCell(matrix);
  const field = { class: "field", "--across": `${across}px`, "--down": `${down}px` };
  const whole = element(
    "div",
    { ...gridAttributes(matrix), class: "painted", tabindex: "0", "aria-activedescendant": spoken.id, ...sizes },
    matrix.asks
      ? element("div", { class: "painted-corner", "aria-hidden": "true" }, "asks ↓", element("br"), "attended to →")
      : null,
    labels,
    columnLabels(matrix),
    element("div", field, canvas, ring),
    spoken.element,
  );
  paintWhenShown(canvas, matrix, across, down);
  const show = (row, column, focus) => {
    ring.style.transform = `translate(${column * width}px, ${row * height}px)`;
    labels.querySelector(".chosen-row")?.classList.remove("chosen-row");
    labels.children[row].classList.add("chosen-row");
    spoken.show(row, column);
    if (focus) followRing(whole, ring);
  };
  const boxOf = (row, column) => {
    const { left, top } = canvas.getBoundingClientRect();
    const [x, y] = [left + column * width, top + row * height];
    return { left: x, top: y, right: x + width, bottom: y + height };
  };
  return { element: whole, show, boxOf, cellAt: (event) => cellOfCanvas(event, canvas, matrix) };
};

const gridAttributes = ({ title, panel }) => ({
  role: "grid",
  "aria-label": title,
  "aria-readonly": "true",
  "aria-rowcount": panel.rows,
  "aria-colcount": panel.columns,
});

/** The one cell of the painting that a screen reader finds: {element, id, show(row, column)}. */
const spokenCell = (matrix) => {
  const heading = element("span", { role: "rowheader" });
  const cell = element("span", { role: "gridcell", id: newId("cell"), "aria-selected": "true" });
  const spoken = element("div", { role: "row", class: "spoken" }, heading, cell);
  const show = (row, column) => {
    spoken.setAttribute("aria-rowindex", row + 1);
    cell.setAttribute("aria-colindex", column + 1);
    heading.textContent = matrix.rows[row];
    cell.textContent = cellInWords(matrix, row, column);
  };
  return { element: spoken, id: cell.id, show };
};

let idsGiven = 0;

/** An id that nothing else on the page has. */
const newId = (kind) => `${kind}-${(idsGiven += 1)}`;

const followRing = (whole, ring) => {
  if (document.activeElement !== whole) whole.focus({ preventScroll: true });
  ring.scrollIntoView({ block: "nearest", inline: "nearest" });
};

const cellOfCanvas = (event, canvas, matrix) => {
  const box = canvas.getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left) / matrix.width);
  const row = Math.floor((event.clientY - box.top) / matrix.height);
  const inside = row >= 0 && column >= 0 && row < matrix.panel.rows && column < matrix.panel.columns;
  return inside ? { row, column } : null;
};

/** The rows' labels beside the canvas: all that have room. */
const rowLabels = (matrix) => {
  const every = labelsEvery(matrix.height, 15, matrix.asks || !matrix.rowWord);
  const labels = matrix.rows.map((label, row) => {
    const told = matrix.rowState[row];
    const shown = row % every === 0;
    return element("span", { class: told ? `state-${told.split(" ")[0]}` : null }, [
      shown ? words(label) : null,
      told ? [" ", element("small", { class: "row-state" }, told)] : null,
    ]);
  });
  return element("div", { class: "row-labels", "aria-hidden": "true" }, ...labels);
};

const columnLabels = (matrix) => {
  const tokens = matrix.asks || matrix.tokensAbove;
  const every = labelsEvery(matrix.width, tokens ? 15 : 36, tokens);
  const labels = matrix.columns.map((label, column) =>
    column % every
      ? null
      : element("span", { "--at": `${column * matrix.width}px`, "--room": `${every * matrix.width}px` }, words(label)),
  );
  return element("div", { class: `column-labels ${headingsOf(matrix)}`, "aria-hidden": "true" }, ...labels);
};

/** Return n where every nth label has room; of numbers every 8th, 16th, … is shown. */
const labelsEvery = (size, room, areTokens) => {
  const every = Math.ceil(room / size);
  return areTokens || every === 1 ? every : Math.ceil(every / 8) * 8;
};

export const paintedCanvases = new Set();

/** Paint once it is in the page (its colours come from there), and again when light turns to dark. */
export const paintWhenShown = (canvas, matrix, across, down) => {
  canvas.paint = () => paintCells(canvas, matrix, across, down);
  paintedCanvases.add(new WeakRef(canvas));
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      canvas.paint();
    },
    { rootMargin: "400px" },
  );
  observer.observe(canvas);
};

const paintAgain = () => {
  for (const reference of paintedCanvases) {
    const canvas = reference.deref();
    if (canvas?.isConnected) canvas.paint();
    else if (!canvas) paintedCanvases.delete(reference);
  }
};

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paintAgain);

addEventListener("beforeprint", paintAgain);

const paintCells = (canvas, matrix, across, down) => {
  const { panel } = matrix;
  const density = across * down > 2e6 ? 1 : devicePixelRatio;
  canvas.width = across * density;
  canvas.height = down * density;
  canvas.style.width = `${across}px`;
  canvas.style.height = `${down}px`;
  const style = getComputedStyle(canvas);
  const hues = {
    above: colourParts(style.getPropertyValue("--hue")),
    below: colourParts(style.getPropertyValue("--below")),
  };
  const small = new OffscreenCanvas(panel.columns, panel.rows);
  const pixels = new ImageData(panel.columns, panel.rows);
  const masked = [];
  for (let row = 0, place = 0; row < panel.rows; row++) {
    for (let column = 0; column < panel.columns; column++, place += 4) {
      const depth = depthOf(matrix.scale, panel.at(row, column));
      if (depth === null || matrix.forbidden?.(row, column)) masked.push([row, column]);
      else pixels.data.set([...(depth < 0 ? hues.below : hues.above), Math.round(DEEPEST * Math.abs(depth))], place);
    }
  }
  small.getContext("2d").putImageData(pixels, 0, 0);
  const brush = canvas.getContext("2d");
  brush.imageSmoothingEnabled = false;
  brush.drawImage(small, 0, 0, canvas.width, canvas.height);
  brush.scale(density, density);
  paintSigns(brush, matrix, style.getPropertyValue("--paper"));
  hatchCells(brush, masked, matrix, style.color);
};

/** Where there is room, what is below zero has a dash, so that the sign is not told by colour alone. */
const paintSigns = (brush, { panel, width, height, scale }, paper) => {
  if (width < 7 || height < 7 || scale.kind !== "numbers") return;
  brush.fillStyle = paper || "#fff";
  for (let row = 0; row < panel.rows; row++) {
    for (let column = 0; column < panel.columns; column++) {
      if (depthOf(scale, panel.at(row, column)) > -0.15) continue;
      brush.fillRect(column * width + width / 4, (row + 0.5) * height - 0.75, width / 2, 1.5);
    }
  }
};

const hatchCells = (brush, masked, { width, height }, ink) => {
  brush.strokeStyle = ink;
  brush.globalAlpha = 0.45;
  brush.lineWidth = 1;
  brush.beginPath();
  for (const [row, column] of masked) {
    const x = column * width,
      y = row * height,
      step = Math.min(width, height);
    for (let from = 0; from < width + height; from += Math.max(4, step / 3)) {
      brush.moveTo(x + Math.max(0, from - height), y + Math.min(from, height));
      brush.lineTo(x + Math.min(from, width), y + Math.max(0, from - width));
    }
  }
  brush.stroke();
  brush.globalAlpha = 1;
};

let colourProbe = null;

/** Red, green and blue of a colour of the style sheet, whichever way it is written. */
export const colourParts = (colour) => {
  colourProbe ??= new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  colourProbe.clearRect(0, 0, 1, 1);
  colourProbe.fillStyle = colour.trim() || "#666";
  colourProbe.fillRect(0, 0, 1, 1);
  return colourProbe.getImageData(0, 0, 1, 1).data.slice(0, 3);
};
