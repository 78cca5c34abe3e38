// Lighting up: which position of the target the drawing shows, and where in the source it looked.

let onShow = null; // {model, run, shares}: what the drawing shows, for glances

const lightUp = (model, run, shares) => {
  onShow = { model, run, shares };
  lightPosition(state.position);
};

/** Light a position up while a pointer or the focus is on it; null goes back to the current one. */
const glance = (place) => {
  if (!onShow || (place !== null && !isReached(place))) return;
  lightPosition(place ?? state.position);
  lightStrands(place ?? state.position);
};

/** In step mode, positions after the current step do not exist yet. */
const isReached = (place) => state.mode === "training" || place <= state.position;

const lightPosition = (position) => {
  const { model, run, shares } = onShow;
  for (const token of model.querySelectorAll("[data-position]")) {
    const place = Number(token.dataset.position);
    token.classList.toggle("lit", place === position);
    token.classList.toggle("to-come", !isReached(place));
    token.classList.toggle("cached", state.mode === "step" && state.cached && place < state.position);
    if (token.tagName === "BUTTON") token.setAttribute("aria-pressed", String(place === position));
  }
  drawNext(run, position, model.querySelector(".next"));
  const said = visibleText(run.expected[position] ?? "");
  shareOut(shares[position] ?? [], `looked at when it said ${said}; the mean of the last layer’s heads`);
};

const MOST_ROWS = 8; // of the memory; of a longer one the rows with the least attention are only counted

/** Show shares of the source, on the memory and under the encoder. */
const shareOut = (row, who) => {
  const { model } = onShow;
  for (const place of model.querySelectorAll("[data-source]")) {
    const share = row[Number(place.dataset.source)] ?? 0;
    place.style.setProperty("--share", share.toFixed(4));
    const number = place.querySelector(".share");
    if (number) number.textContent = share.toFixed(2);
    place.querySelector(".share-bar")?.style.setProperty("--share", share.toFixed(4));
  }
  const rows = [...model.querySelectorAll(".memory-tokens li")];
  const byShare = rows.map((_, place) => place).sort((one, other) => (row[other] ?? 0) - (row[one] ?? 0));
  const listed = new Set(byShare.slice(0, MOST_ROWS));
  rows.forEach((each, place) => (each.hidden = !listed.has(place)));
  const caption = model.querySelector(".memory-who");
  if (caption) caption.textContent = who;
};

/** The reverse: a source token lights up the words that attended to it. */
const lookBack = (source) => {
  if (!onShow) return;
  for (const token of onShow.model.querySelectorAll(".said")) {
    const share = source === null ? 0 : (onShow.shares[Number(token.dataset.position)]?.[source] ?? 0);
    token.style.setProperty("--looked", share.toFixed(4));
  }
};
