// Vectors as a small painted strip: a column for each number, its colour how large it is.

import { element } from "../base/elements.js";
import { colourParts, paintedCanvases } from "./canvas.js";

export const stripCanvas = (data, height, width, most, says) => {
  const canvas = element("canvas", { width, height, role: "img", "aria-label": says });
  canvas.paint = () => paintStrip(canvas, data, most);
  paintedCanvases.add(new WeakRef(canvas)); // painted again when light turns to dark
  return canvas;
};

const paintStrip = (canvas, data, most) => {
  const style = getComputedStyle(canvas);
  const [above, below] = [colourParts(style.getPropertyValue("--x")), colourParts(style.getPropertyValue("--against"))];
  const pixels = new ImageData(canvas.width, canvas.height);
  data.subarray(0, canvas.width * canvas.height).forEach((value, at) => {
    const depth = Math.max(-1, Math.min(1, value / most));
    pixels.data.set([...(depth < 0 ? below : above), Math.round(255 * Math.sqrt(Math.abs(depth)))], at * 4);
  });
  canvas.getContext("2d").putImageData(pixels, 0, 0);
};
