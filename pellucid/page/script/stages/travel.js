// Once for each product: the row of the left operand moves over to the column of the right one and lies down on it, and
// both become their cell.

import { element } from "../base/elements.js";
import { thumbnail } from "../matrices/painting.js";
import { platesOf } from "./field.js";

const SLOWLY = 2600; // milliseconds
const travelled = new Set(); // the stages whose row has travelled
const isStill = matchMedia("(prefers-reduced-motion: reduce)");

/** Let the row travel if a stage shows a product for the first time; never for readers who want no motion. */
export const travelOnce = ({ place, stage, plates, rest }) => {
  const product = place.querySelector(".equation.product");
  if (!product || isStill.matches || travelled.has(stage.key)) return;
  travelled.add(stage.key);
  const figures = platesOf(stage.items).map(({ key }) => plates.get(key));
  const [from, over, into] = figures.map((figure) => figure.querySelector(".frame").getBoundingClientRect());
  const [{ panel, scale, role }] = figures.map(({ spec }) => spec);
  const row = { rows: 1, columns: panel.columns, at: (_, column) => panel.at(rest.row, column) };
  const traveller = element(`div.traveller.role-${role}`, thumbnail({ panel: row, scale }, from.width, from.height));
  product.append(traveller);
  const origin = traveller.getBoundingClientRect();
  const moved = (box, across, down, turn = 90) => {
    const [x, y] = [
      box.left + box.right - origin.left - origin.right,
      box.top + box.bottom - origin.top - origin.bottom,
    ];
    return { transform: `translate(${x / 2}px, ${y / 2}px) rotate(${turn}deg) scale(${across}, ${down})` };
  };
  const lying = moved(over, over.height / from.width, over.width / from.height);
  const path = [moved(from, 1, 1, 0), { ...lying, offset: 0.6 }, { ...lying, offset: 0.75 }];
  const last = { ...moved(into, into.height / from.width, into.width / from.height), opacity: 0 };
  traveller.animate([...path, last], { duration: SLOWLY, easing: "ease-in-out" }).onfinish = () => traveller.remove();
};
