// Fit the tokens of the drawing. The first way that fits is used: one line; two lines, by turns, with smaller letters;
// long words cut short; all words written upwards.

const SMALLEST = 0.7; // the smallest size of a token, relative to the normal one
const TRIED = [1, 0.9, 0.8].map((size) => [1, size]); // lines and sizes
TRIED.push(...[0.9, 0.8, SMALLEST].map((size) => [2, size]));
TRIED.push(...[64, 52, 42, 34, 28].map((most) => [2, SMALLEST, most])); // and the largest width of a word, in pixels
const BESIDE = 150; // pixels that a stack needs in addition to its tokens
const EDGE = 6; // pixels that a token needs in addition to its word

/** Give each stack of a drawing its share of the width, and each token its position. */
export const fitTokens = (model) => {
  const stacks = [...model.querySelectorAll(".stack")];
  model.classList.add("measured");
  const widths = stacks.map(widthsOfWords);
  model.classList.remove("measured");
  stacks.forEach(({ classList: [, name] }, at) =>
    model.style.setProperty(`--${name}`, `${BESIDE + packed(widths[at], 1).width}fr`),
  );
  stacks.forEach((stack, at) => placeTokens(stack, widths[at]));
};

/** Return a width for each position of a stack: the wider one of its input word and its output word. */
const widthsOfWords = (stack) => {
  const width = ({ children }) => Math.max(...[...children].map((part) => part.getBoundingClientRect().width));
  const rows = [...stack.querySelectorAll(".token-row")].map(({ children }) => [...children].map(width));
  return rows[0].map((_, at) => Math.max(...rows.map((row) => row[at])));
};

/** Pack tokens into `lines` lines, by turns. Return {middles (of the tokens), width}. */
const packed = (widths, lines, size = 1, most = Infinity) => {
  const halves = widths.map((width) => (Math.min(width * size, most) + EDGE) / 2);
  const middles = [];
  for (const [at, half] of halves.entries()) {
    const before = at < lines ? 0 : middles[at - lines] + halves[at - lines];
    middles.push(Math.max(before + half, at && middles[at - 1] + EDGE));
  }
  for (let at = middles.length - 2; at > 0; at--) {
    const least = at < lines ? halves[at] : middles[at - lines] + halves[at - lines] + halves[at];
    const most = at + lines < middles.length ? middles[at + lines] - halves[at + lines] - halves[at] : Infinity;
    middles[at] = Math.min(most, Math.max(least, (middles[at - 1] + middles[at + 1]) / 2)); // between neighbours
  }
  return { middles, width: Math.max(...middles.map((middle, at) => middle + halves[at])) };
};

const placeTokens = (stack, widths) => {
  const room = stack.querySelector(".token-row").clientWidth;
  const fit = TRIED.find((how) => packed(widths, ...how).width <= room);
  const [lines, size, most] = fit ?? [1, SMALLEST, 0];
  const { middles, width } = packed(widths, lines, size, most);
  stack.classList.toggle("turned", !fit);
  stack.classList.toggle("by-turns", lines > 1);
  stack.style.setProperty("--fit", size);
  stack.style.setProperty("--most", most ? `${most}px` : "none");
  for (const row of stack.querySelectorAll(".token-row"))
    [...row.children].forEach((token, at) => {
      token.style.setProperty("--x", `${((middles[at] / width) * 100).toFixed(2)}%`);
      token.style.setProperty("--turn", (at % lines) + 1);
    });
};
