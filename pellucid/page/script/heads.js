// All heads side by side, as small multiples: each is a button that chooses its head.

/** A strip of small pictures of a tensor, one for each head; the chosen one says so. */
const headStrip = (view, spec, choose) => {
  const heads = spec.tensor ? headsOfTensor(spec.tensor) : 1;
  if (heads < 2) return null;
  const buttons = Array.from({ length: heads }, (_, head) => headButton(view, spec, head, () => choose(head)));
  return element(
    "div",
    { class: "head-strip", role: "group", "aria-label": `all ${heads} heads: ${spec.caption.title}` },
    buttons,
  );
};

const headButton = (view, spec, head, choose) => {
  const { panel } = rowsAtTime(view, spec.name, spec.tensor, head);
  const width = Math.max(1, Math.min(spec.asks ? 14 : 6, Math.floor(90 / panel.columns)));
  const height = Math.max(1, Math.min(14, Math.floor(84 / panel.rows)));
  const canvas = element("canvas", {
    "aria-hidden": "true",
    "--across": `${panel.columns * width}px`,
    "--down": `${panel.rows * height}px`,
  });
  // The mask may be lifted for one head alone, so each head's is its own.
  forbiddenCells(view, view.run, spec.name, head).then((forbidden) =>
    paintWhenShown(
      canvas,
      { panel, width, height, scale: spec.scale, forbidden },
      panel.columns * width,
      panel.rows * height,
    ),
  );
  const chosen = head === view.head;
  const silent = isSilent(view.run, splitName(spec.name).path, head);
  const name = element("span", {}, `head ${head}${chosen ? ", chosen" : ""}${silent ? ", silenced" : ""}`);
  return button([canvas, name], choose, {
    type: "button",
    class: `head role-${spec.role}`,
    pressed: chosen,
    "data-key": `strip-${spec.name}-${head}`,
  });
};
