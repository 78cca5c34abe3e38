// Make elements, fill places with them, and speak to screen readers.

import { meaningOf, tokenName } from "./tokens.js";

/** An element: element("p.note", { title: "…" }, "text", otherElement); its properties may be left out. A function
 *  listens to the event of its name; what begins with -- is a variable of the style. */
export const element = (tag, ...rest) => filled(document.createElement(tag.split(".")[0]), tag, rest);

/** The same for a drawing: drawn("line.stream", { x1: 0, y1: 0, x2: 10, y2: 10 }). */
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

/** The children as one list, without null, false and undefined. */
const shownOf = (children) => [children].flat(Infinity).filter((child) => (child ?? false) !== false);

/** A button: its label, its action, its attributes; {pressed: true or false} makes it a toggle. */
export const button = (label, click, { pressed = null, ...properties } = {}) =>
  element("button", { click, "aria-pressed": pressed === null ? null : String(pressed), ...properties }, label);

/** Buttons to choose among, after their heading. A choice: {label, key, chosen, choose, says: its name for who does
 *  not see it, reason: why it cannot be chosen}. */
export const choiceOf = (name, heading, choices, properties = {}) =>
  element("div.chooser", { role: "group", "aria-label": name, ...properties }, heading, choices.map(choiceButton));

export const choiceButton = ({ label, key, chosen, choose, says = null, reason = "" }) =>
  button(label, () => (reason ? say(reason) : choose()), {
    pressed: chosen,
    "data-key": key,
    "aria-label": says,
    "aria-disabled": reason ? "true" : null,
  });

/** A table with a caption, the heads of its columns (null: an empty cell), rows and a last row. A row is a list of cells,
 *  or a <tr>. */
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

/** A token or a sentence, kept from turning its neighbours round where it is written from the right. A special token
 *  has its meaning, and is itself the title. */
export const words = (text, properties = {}) =>
  element("bdi", { title: meaningOf(text) && text, ...properties }, tokenName(text));

/** Tokens one by one. */
export const wordsOf = (texts) => texts.map((text) => words(text));

/** A token inside a sentence, set apart from the words around it. */
export const chip = (text) => words(text, { class: "chip" });

/** Captions have letters above and below the line, which the table of tensors writes as <sup> and <sub>: as nodes;
 *  nothing else in them becomes an element. */
export const withScripts = (text) =>
  text
    .split(/(<su[bp]>.*?<\/su[bp]>)/)
    .filter(Boolean)
    .map((part) => {
      const [, tag, inside] = /^<(su[bp])>(.*)<\/\1>$/.exec(part) ?? [];
      return tag ? element(tag, inside) : part;
    });

/** The same words without markup, to be read aloud or copied. */
export const withoutScripts = (text) => text.replace(/<sup>T<\/sup>/g, "ᵀ").replace(/<\/?su[bp]>/g, "");

/** The two keys of the keyboard that go back and forward. */
export const keysOf = (before, next) => [element("kbd", before), " ", element("kbd", next)];

/** A share of 1 as a bar; its number is shown beside it. */
export const shareBar = (share) =>
  element("span.share-bar", { "aria-hidden": "true", "--share": Math.max(0, Math.min(1, share)).toFixed(4) });

/** Draw in a place, and give the focus back to the element with the same data-key. */
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

const newest = new WeakMap(); // a place -> the promise of what it is to hold

/** Fill a place when its children are made; of several that are waited for, with the last asked for. Null hides the
 *  place. Returns whether it was filled. */
export const fill = async (place, making) => {
  newest.set(place, making);
  const children = await making;
  if (newest.get(place) !== making) return false;
  place.hidden = children === null;
  redraw(place, children);
  return true;
};

export const isNarrow = matchMedia("(max-width: 40rem)"); // as the style has it

export const found = (id) => document.getElementById(id);

/** Put a text into the live region, which screen readers read aloud; a repeated text is read again. */
export const say = (text) => {
  const place = found("said");
  if (place) place.textContent = place.textContent === text ? `${text}\u00a0` : text;
};
