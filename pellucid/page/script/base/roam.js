// Groups of buttons that are one stop of the Tab key: arrow keys go to the nearest button in their direction.

/** Make a group of buttons one stop of the Tab key; arrow keys move to the nearest button in their direction. */
export const roam = (place) => {
  const buttons = () =>
    [...place.querySelectorAll("button:not([disabled])")].filter((button) => button.offsetParent !== null);
  const choose = (chosen) => {
    for (const button of buttons()) button.tabIndex = button === chosen ? 0 : -1;
  };
  choose(
    buttons().find((button) => button === document.activeElement) ??
      place.querySelector("[aria-current]") ??
      buttons()[0],
  );
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

const roamed = new WeakSet(); // places that listen already: what stands in them may be drawn again
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** The nearest button in a direction; what lies beside the way counts as further. */
const nearestButton = (from, buttons, [right, down]) => {
  const start = from.getBoundingClientRect();
  let [best, least] = [null, Infinity];
  for (const button of buttons) {
    if (button === from) continue;
    const box = button.getBoundingClientRect();
    const [x, y] = [
      middleOf(box.left, box.right) - middleOf(start.left, start.right),
      middleOf(box.top, box.bottom) - middleOf(start.top, start.bottom),
    ];
    const along = right * x + down * y;
    const aside = right
      ? gap(start.top, start.bottom, box.top, box.bottom)
      : gap(start.left, start.right, box.left, box.right);
    const far = along + 4 * aside + 0.1 * Math.abs(right ? y : x);
    if (along > 4 && far < least) [best, least] = [button, far];
  }
  return best;
};

const middleOf = (one, other) => (one + other) / 2;
const gap = (start, end, from, to) => Math.max(0, from - end, start - to);
