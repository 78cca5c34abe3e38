// Make elements, and speak to screen readers.

import { visibleText } from "./text.js";

/** An element: element("p", { class: "note" }, "text", otherElement). A function listens to the event of its name;
 *  what begins with -- is a variable of the style. */
export const element = (tag, properties = {}, ...children) => {
  const made = document.createElement(tag);
  assign(made, properties);
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
};

/** The same for a drawing: drawn("line", { x1: 0, y1: 0, x2: 10, y2: 10 }). */
export const drawn = (tag, properties = {}, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  assign(made, properties);
  made.append(...children.flat(Infinity).filter(Boolean));
  return made;
};

const assign = (made, properties) => {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else if (name.startsWith("--")) made.style.setProperty(name, value);
    else made.setAttribute(name, value === true ? "" : value);
  }
};

/** A button: what stands on it, what it does, its attributes; {pressed: true or false} where it stays down. */
export const button = (label, click, { pressed = null, ...properties } = {}) =>
  element("button", { click, "aria-pressed": pressed === null ? null : String(pressed), ...properties }, label);

/** Buttons to choose among, after their heading. A choice: {label, key, chosen, choose, says: its name for who does
 *  not see it, reason: why it cannot be chosen}. */
export const choiceOf = (name, heading, choices, properties = {}) =>
  element("div", { class: "chooser", role: "group", "aria-label": name, ...properties }, [
    heading,
    choices.map(choiceButton),
  ]);

export const choiceButton = ({ label, key, chosen, choose, says = null, reason = "" }) =>
  button(label, () => (reason ? say(reason) : choose()), {
    pressed: chosen,
    "data-key": key,
    "aria-label": says,
    "aria-disabled": reason ? "true" : null,
  });

/** A table: its caption, its heading, its rows and its last row. A row is a list of cells, or the <tr> itself. */
export const tableOf = (name, { caption = null, heading, rows, last = null }) =>
  element("table", { class: name }, [
    caption && element("caption", {}, caption),
    element("thead", {}, tableRow(heading)),
    element("tbody", {}, rows.map(tableRow)),
    last && element("tfoot", {}, tableRow(last)),
  ]);

const tableRow = (row) => (Array.isArray(row) ? element("tr", {}, row) : row);
export const columnHead = (...children) => element("th", { scope: "col" }, children);
export const rowHead = (...children) => element("th", { scope: "row" }, children);

/** A token or a sentence, kept from turning its neighbours round where it is written from the right. */
export const words = (text, properties = {}) => element("bdi", properties, visibleText(text));

/** A token that is spoken of in a sentence, set apart from it. */
export const chip = (text) => words(text, { class: "chip" });

/** A share of 1 as a bar; the number stands beside it. */
export const shareBar = (share) =>
  element("span", { class: "share-bar", "aria-hidden": "true", "--share": Math.max(0, Math.min(1, share)).toFixed(4) });

/** New children for a place; what had the focus has it again, known by its data-key. */
export const redraw = (place, ...children) => {
  const key = place.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  place.replaceChildren(...children.flat(Infinity).filter(Boolean));
  if (key)
    [...place.querySelectorAll("[data-key]")]
      .find((child) => child.dataset.key === key)
      ?.focus({ preventScroll: true });
};

const ticketsOfPlaces = new WeakMap();

/** Taken before a drawing waits for its numbers: `isNewest()` says whether no other has begun in this place since. */
export const ticketOf = (place) => {
  const ticket = {};
  ticketsOfPlaces.set(place, ticket);
  return () => ticketsOfPlaces.get(place) === ticket;
};

export const found = (id) => document.getElementById(id);

/** Put a text into the live region, which screen readers read aloud; the same text twice is read twice. */
export const say = (text) => {
  const place = found("said");
  if (place) place.textContent = place.textContent === text ? `${text}\u00a0` : text;
};

export const stillness = matchMedia("(prefers-reduced-motion: reduce)");

/** Animate an element to show where it came from; not where the reader's system asks for reduced motion. */
export const animate = (moved, frames, milliseconds = 260) =>
  stillness.matches ? null : moved.animate(frames, { duration: milliseconds, easing: "cubic-bezier(.2,.7,.3,1)" });
