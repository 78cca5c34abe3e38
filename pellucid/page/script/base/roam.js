// Groups of buttons that the Tab key reaches as one; inside a group, arrow keys move the focus.

/** Let the Tab key stop only once at a group of buttons; arrow keys go to the nearest button in their direction. */
export const roam = (place) => {
  const buttons = () =>
    [...place.querySelectorAll("button:not([disabled])")].filter((button) => button.offsetParent !== null);
  const choose = (chosen) => {
    for (const button of buttons()) button.tabIndex = button === chosen ? 0 : -1;
  };
  const focused = buttons().find((button) => button === document.activeElement);
  choose(focused ?? place.querySelector("[aria-current]") ?? buttons()[0]);
  if (roamed.has(place)) return;
  roamed.add(place);
  place.addEventListener("focusin", ({ target }) => target.closest("button") && choose(target.closest("button")));
  place.addEventListener("keydown", (event) => {
    const direction = ARROWS[event.key];
    const from = event.target.closest("button");
    if (!direction || event.altKey || event.ctrlKey || event.metaKey || !from) return;
    event.preventDefault();
    event.stopPropagation();
    nearestButton(from, buttons(), direction)?.focus();
  });
};

const roamed = new WeakSet(); // places that already have listeners: their buttons may be drawn again
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Return the nearest button in a direction; a button that is off to the side counts as further away. */
const nearestButton = (from, buttons, [right, down]) => {
  const start = from.getBoundingClientRect();
  const farness = (button) => {
    const box = (button.closest("[data-whole]") ?? button).getBoundingClientRect(); // the element that it represents
    const x = box.left + box.right - start.left - start.right; // twice the distance between the centres
    const y = box.top + box.bottom - start.top - start.bottom;
    const gaps = right
      ? [box.top - start.bottom, start.top - box.bottom]
      : [box.left - start.right, start.left - box.right];
    const along = right * x + down * y;
    return along > 8 ? along + 8 * Math.max(0, ...gaps) + 0.2 * Math.abs(right ? y : x) : Infinity;
  };
  const ahead = buttons.filter((button) => farness(button) < Infinity);
  return ahead.sort((one, other) => farness(one) - farness(other))[0];
};
