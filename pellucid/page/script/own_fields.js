// The fields of the form for one's own matrices: each with its label, what is wrong with it below it, and
// its shape.

const FIELD_WORDS = {
  inputs: ["X", "inputs: a row for each token that asks"],
  memory: ["Y", "memory: a row for each token attended to; leave it empty for self-attention"],
  w_query: ["W<sup>Q</sup>", "weights of the queries, in × out"],
  w_key: ["W<sup>K</sup>", "weights of the keys, in × out"],
  w_value: ["W<sup>V</sup>", "weights of the values, in × out"],
  w_output: ["W<sup>O</sup>", "weights of the output; leave it empty to end at the heads side by side"],
  queries: ["Q", "queries: a row for each token that asks"],
  keys: ["K", "keys: a row for each token attended to"],
  values: ["V", "values: a row for each token attended to; leave it empty to end at the weights"],
  scores: ["Q K<sup>T</sup>", "scores: a row for each token that asks"],
  scaled_scores: ["Q K<sup>T</sup> ÷ √d", "scaled scores"],
  masked_scores: ["+ mask", "masked scores; -inf where masked"],
  weights: ["A", "attention weights"],
};
const STAGE_SYMBOLS = {
  queries: "Q",
  keys: "K",
  values: "V",
  scores: "Q K<sup>T</sup>",
  scaled_scores: "÷ √d",
  mask: "mask",
  masked_scores: "+ mask",
  weights: "softmax",
  context: "· V",
  concatenated: "heads side by side",
  output: "· W<sup>O</sup>",
};

/** A labelled field: a textarea or an input. `place` is the name that errors know it by. */
const ownField = ({ place, symbol = "", title, value, rows = 0, hint = "", change }) => {
  const id = `own-${place.replace(".", "-")}`;
  const input = element(rows ? "textarea" : "input", {
    id,
    "data-place": place,
    "data-key": id,
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
    "aria-describedby": `${id}-error ${id}-hint`,
    class: rows ? "own-matrix" : "own-line",
    rows: rows || null,
    wrap: rows ? "off" : null,
    type: rows ? null : "text",
  });
  input.value = value;
  input.addEventListener("input", () => {
    if (rows) input.rows = rowsFor(input.value, rows);
    change(input.value);
  });
  if (rows) input.rows = rowsFor(value, rows);
  const label = element(
    "label",
    { for: id },
    symbol ? element("b", {}, withScripts(symbol)) : null,
    symbol ? " " : null,
    title,
  );
  return element(
    "div",
    { class: `own-field${rows ? " wide" : ""}`, "data-field": place },
    label,
    element("output", { class: "own-size", for: id }),
    input,
    element("p", { class: "own-hint", id: `${id}-hint` }, hint),
    element("p", { class: "own-error", id: `${id}-error` }),
  );
};

const rowsFor = (text, least) => Math.min(16, Math.max(least, text.split("\n").length));

/** One of several, as buttons that are pressed or not. */
const ownChoice = (title, choices, chosen, choose, place = "") =>
  element(
    "div",
    { class: "own-choice", role: "group", "aria-label": title, "data-field": place || null },
    element("span", { class: "label" }, title),
    choices.map(([value, text]) =>
      element(
        "button",
        {
          type: "button",
          "aria-pressed": String(value === chosen),
          "data-key": `own-${title}-${value}`,
          click: () => choose(value),
        },
        text,
      ),
    ),
    place ? element("p", { class: "own-error", id: `own-${place}-choice-error` }) : null,
  );

/**
 * The whole form: how it begins, its matrices, its settings, its claims. `change(changes, again)` tells
 * what was changed, and whether the form has to be drawn again.
 */
const ownFields = (form, change) => [
  ownChoice(
    "Start from",
    Object.entries(STARTS).map(([value, { title }]) => [value, title]),
    form.start,
    (start) => change({ start }, true),
  ),
  element(
    "fieldset",
    {},
    element("legend", {}, "Matrices"),
    element(
      "p",
      { class: "own-note" },
      "A row on each line, numbers apart by spaces; or paste from a spreadsheet. Write … for what is not known. Several heads: an empty line between their matrices.",
    ),
    ownMatrices(form, change),
  ),
  ownSettings(form, change),
  ownClaims(form, change),
];

/** A field for each matrix; where any may be given, those that are empty are folded away. */
const ownMatrices = (form, change) => {
  const field = (name) =>
    ownField({
      place: name,
      symbol: FIELD_WORDS[name][0],
      title: FIELD_WORDS[name][1],
      value: form.texts[name] ?? "",
      rows: 2,
      change: (text) => change({ texts: { [name]: text } }),
    });
  const { fields } = STARTS[form.start];
  const empty = form.start === "anything" ? fields.filter((name) => !form.texts[name]?.trim()) : [];
  const rest = element(
    "details",
    { class: "own-rest", open: empty.length === fields.length },
    element("summary", {}, "Other matrices"),
    empty.map(field),
  );
  return [...fields.filter((name) => !empty.includes(name)).map(field), empty.length ? rest : null];
};

const ownSettings = (form, change) =>
  element(
    "fieldset",
    {},
    element("legend", {}, "Settings"),
    ownChoice(
      "Mask",
      [
        ["none", "none"],
        ["causal", "causal"],
        ["own", "my own"],
      ],
      form.mask,
      (mask) => change({ mask }, true),
    ),
    form.mask === "own"
      ? ownField({
          place: "mask",
          title: "the mask: 0 where a query may look, -inf where not; or true and false",
          value: form.maskText,
          rows: 2,
          change: (maskText) => change({ maskText }),
        })
      : null,
    ownChoice(
      "Scores divided by",
      [
        ["sqrt_dk", "√d_k"],
        ["sqrt_dmodel", "√d_model"],
        ["none", "nothing"],
        ["number", "a number"],
      ],
      form.scale,
      (scale) => change({ scale }, true),
    ),
    form.scale === "number"
      ? ownField({
          place: "scale",
          title: "the number that divides",
          value: form.divisor,
          change: (divisor) => change({ divisor }),
        })
      : element("p", { class: "own-error", id: "own-scale-error", "data-place": "scale" }),
    ownField({
      place: "heads",
      title: "heads",
      value: form.heads,
      hint: "Empty: as many as matrices are given, else 1.",
      change: (heads) => change({ heads }),
    }),
    ownField({
      place: "tokens",
      title: "tokens that ask",
      value: form.tokens,
      hint: "Words apart by spaces, one for each row.",
      change: (tokens) => change({ tokens }),
    }),
    ownField({
      place: "memory_tokens",
      title: "tokens attended to",
      value: form.memoryTokens,
      hint: "Empty in self-attention: the same words.",
      change: (memoryTokens) => change({ memoryTokens }),
    }),
  );

/** A field for each stage that somebody claims something about. */
const ownClaims = (form, change) => {
  const claimed = STAGE_NAMES.filter((name) => form.claimed.includes(name));
  const fields = claimed.map((name) =>
    ownField({
      place: `claims.${name}`,
      symbol: STAGE_SYMBOLS[name],
      title: `claimed ${name.replaceAll("_", " ")}`,
      value: form.claims[name] ?? "",
      rows: 2,
      change: (text) => change({ claims: { [name]: text } }),
    }),
  );
  const digits = ownField({
    place: "decimals",
    title: "digits of claimed whole numbers",
    value: form.decimals,
    hint: "Empty: a whole number must say, 1.0. With 0, a claimed 1 is anything from 0.5 to 1.5.",
    change: (decimals) => change({ decimals }),
  });
  return element(
    "fieldset",
    {},
    element("legend", {}, "What a slide or homework claims"),
    element(
      "p",
      { class: "own-note" },
      "Choose the stages, and type their numbers as they are written: 0.40 means two digits.",
    ),
    claimedStages(form, change),
    fields,
    claimed.length ? digits : null,
  );
};

/** A button for each stage, pressed where something is claimed about it. */
const claimedStages = ({ claimed }, change) => {
  const button = (name) => {
    const isPressed = claimed.includes(name);
    const toggled = isPressed ? claimed.filter((each) => each !== name) : [...claimed, name];
    return element(
      "button",
      {
        type: "button",
        "aria-pressed": String(isPressed),
        "data-key": `own-claim-${name}`,
        "aria-label": name.replaceAll("_", " "),
        title: name,
        click: () => change({ claimed: toggled }, true),
      },
      withScripts(STAGE_SYMBOLS[name]),
    );
  };
  const stages = { class: "own-choice", role: "group", "aria-label": "stages with claims" };
  return element("div", stages, STAGE_NAMES.map(button));
};

/** Says at a field what is wrong with it; without an error, takes what was said away. */
const showFieldError = (place, error) => {
  for (const shown of place.querySelectorAll(".own-error")) shown.textContent = "";
  for (const field of place.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  if (!error) return null;
  const id = `own-${error.place.replace(".", "-")}`;
  const below = place.querySelector(`[id="${id}-error"]`);
  place.querySelector(`[id="${id}"]`)?.setAttribute("aria-invalid", "true");
  if (below) below.textContent = error.message;
  return below;
};

/** The shape of each matrix beside its label, as far as it can be read. */
const showFieldSizes = (place) => {
  for (const field of place.querySelectorAll(".own-field.wide")) {
    const name = field.dataset.field;
    let told = "";
    try {
      const matrix = typedMatrix(field.querySelector("textarea").value, name);
      if (matrix !== null)
        told = typeof matrix === "string" ? matrix.slice(1).trim() : shapeOf(matrix).join(" × ");
    } catch {
      told = "";
    }
    field.querySelector(".own-size").textContent = told;
  }
};
