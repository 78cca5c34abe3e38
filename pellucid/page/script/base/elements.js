// Make elements, put them into the page, and speak to screen readers. A "place" is an element that others fill.

import { meaningOf, tokenName } from "./tokens.js";

/** Make an element: element("p.note", { title: "…" }, "text", otherElement). The properties are optional: a function
 *  listens to the event of its name, and a name that begins with -- is a CSS variable. */
export const element = (tag, ...rest) => filled(document.createElement(tag.split(".")[0]), tag, rest);

/** Make an SVG element: drawn("line.stream", { x1: 0, y1: 0, x2: 10, y2: 10 }). */
export const drawn = (tag, ...rest) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", tag.split(".")[0]), tag, rest);

const filled = (made, tag, rest) => {
  const properties = rest[0]?.constructor === Object ? rest.shift() : {};
  const classes = [...tag.split(".").slice(1), properties.class].filter(Boolean).join(" ");
  for (const [name, value] of Object.entries({ ...properties, class: classes || null })) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else if (name.startsWith("--")) made.style.setProperty(name, value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...shownOf(rest));
  return made;
};

/** Return the children as one list, without null, false and undefined. */
const shownOf = (children) => [children].flat(Infinity).filter((child) => (child ?? false) !== false);

/** Make a button with a label, an action and attributes; {pressed: true or false} makes it a toggle button. */
export const button = (label, click, { pressed = null, ...properties } = {}) =>
  element("button", { click, "aria-pressed": pressed === null ? null : String(pressed), ...properties }, label);

/** Make a group of buttons, one for each choice, after a heading. A choice is {label, key, chosen, choose, says: its
 *  name for screen readers, reason: why it cannot be chosen}. */
export const choiceOf = (name, heading, choices, properties = {}) =>
  element("div.chooser", { role: "group", "aria-label": name, ...properties }, heading, choices.map(choiceButton));

export const choiceButton = ({ label, key, chosen, choose, says = null, reason = "" }) =>
  button(label, () => (reason ? say(reason) : choose()), {
    pressed: chosen,
    "data-key": key,
    "aria-label": says,
    "aria-disabled": reason ? "true" : null,
  });

/** Make a table: its caption, column headings (null: an empty cell), rows and last row, each a list of cells or a <tr>. */
export const tableOf = (name, { caption = null, heading, rows, last = null }) =>
  element("table", { class: name }, [
    caption && element("caption", caption),
    element("thead", element("tr", heading.map(columnHead))),
    element("tbody", rows.map(tableRow)),
    last && element("tfoot", tableRow(last)),
  ]);

const tableRow = (row) => (Array.isArray(row) ? element("tr", row) : row);
const columnHead = (title) => (title === null ? element("td") : element("th", { scope: "col" }, title));
export const rowHead = (...children) => element("th", { scope: "row" }, children);

/** Make an element for a token or a sentence; if it is written from right to left, the text around it keeps its order.
 *  A special token is shown by its meaning, with the token itself as the title. */
export const words = (text, properties = {}) =>
  element("bdi", { title: meaningOf(text) && text, ...properties }, tokenName(text));

/** Make an element for each token. */
export const wordsOf = (texts) => texts.map((text) => words(text));

/** Make an element for a token inside a sentence, which must look different from the words around it. */
export const chip = (text) => words(text, { class: "chip" });

/** Return a caption as a list of nodes. The table of tensors writes superscripts and subscripts as <sup> and <sub>;
 *  no other markup becomes an element. */
export const withScripts = (text) =>
  text
    .split(/(<su[bp]>.*?<\/su[bp]>)/)
    .filter(Boolean)
    .map((part) => {
      const [, tag, inside] = /^<(su[bp])>(.*)<\/\1>$/.exec(part) ?? [];
      return tag ? element(tag, inside) : part;
    });

/** Return a caption without markup, to be read aloud or copied. */
export const withoutScripts = (text) => text.replace(/<sup>T<\/sup>/g, "ᵀ").replace(/<\/?su[bp]>/g, "");

/** Show the two keys of the keyboard that go back and forward. */
export const keysOf = (before, next) => [element("kbd", before), " ", element("kbd", next)];

/** Show a share, from 0 to 1, as a bar. Its number must be shown next to it, because screen readers skip it. */
export const shareBar = (share) =>
  element("span.share-bar", { "aria-hidden": "true", "--share": Math.max(0, Math.min(1, share)).toFixed(4) });

/** Redraw a place with `draw`, then give the focus back to the element with the same data-key. */
export const keepFocus = (place, draw) => {
  const key = place.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  draw();
  if (key) keyed(place, "key", key)?.focus({ preventScroll: true });
};

/** Replace the children of a place. */
export const redraw = (place, ...children) => keepFocus(place, () => place.replaceChildren(...shownOf(children)));

/** Find the element in a place whose data-… attribute has this value; the value may have any characters. */
export const keyed = (place, name, value) =>
  [...place.querySelectorAll(`[data-${name}]`)].find((each) => each.dataset[name] === value);

const newest = new WeakMap(); // a place -> the promise of its newest children

/** Fill a place when the promise of its children is fulfilled; a later call replaces an earlier one that still waits.
 *  Null as children hides the place. Return whether this call filled it. */
export const fill = async (place, making) => {
  newest.set(place, making);
  const children = await making;
  if (newest.get(place) !== making) return false;
  place.hidden = children === null;
  redraw(place, children);
  return true;
};

export const isNarrow = matchMedia("(max-width: 40rem)"); // the same width as in the CSS files

export const found = (id) => document.getElementById(id);

/** Put a text into the live region, so that screen readers read it aloud; a repeated text is read again. */
export const say = (text) => {
  const place = found("said");
  if (place) place.textContent = place.textContent === text ? `${text}\u00a0` : text;
};
