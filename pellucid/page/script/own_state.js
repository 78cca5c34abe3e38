// What a form for one's own matrices holds: texts as typed, so that nothing is lost, whatever is wrong
// with it.

// Which fields each way to begin has. What is typed in the others is kept, and not used.
const STARTS = {
  inputs: { title: "X and W", fields: ["inputs", "memory", "w_query", "w_key", "w_value", "w_output"] },
  queries: { title: "Q, K, V", fields: ["queries", "keys", "values", "w_output"] },
  scores: { title: "scores", fields: ["scores", "values", "w_output"] },
  scaled_scores: { title: "scaled scores", fields: ["scaled_scores", "values", "w_output"] },
  masked_scores: { title: "masked scores", fields: ["masked_scores", "values", "w_output"] },
  weights: { title: "weights", fields: ["weights", "values", "w_output"] },
  anything: { title: "any of these", fields: GIVEN_MATRICES },
};

const EMPTY_FORM = {
  start: "inputs",
  texts: {}, // of the matrices, by their names
  claims: {}, // of the claims, by stage
  claimed: [], // the stages whose claims are judged
  heads: "",
  scale: "sqrt_dk",
  divisor: "",
  mask: "none",
  maskText: "",
  tokens: "",
  memoryTokens: "",
  decimals: "",
  name: "",
  about: "",
  note: "",
  lines: "",
  at: {},
  called: {},
  products: [],
};

/** The table that a form stands for, as in a TOML file; throws for what cannot be read, naming the field. */
const tableOfForm = (form) => {
  const table = { about: form.about, note: form.note, lines: form.lines };
  for (const key of Object.keys(table)) if (!table[key]) delete table[key];
  if (form.decimals.trim()) table.decimals = wholeNumber(form.decimals);
  if (form.heads.trim()) table.heads = wholeNumber(form.heads);
  table.scale = form.scale === "number" ? divisorTyped(form.divisor) : form.scale;
  if (form.mask !== "none") table.mask = form.mask === "own" ? maskTyped(form.maskText) : form.mask;
  for (const [key, text] of [
    ["tokens", form.tokens],
    ["memory_tokens", form.memoryTokens],
  ]) {
    if (text.trim()) table[key] = wordsTyped(text);
  }
  table.given = {};
  for (const name of STARTS[form.start].fields) {
    const matrix = typedMatrix(form.texts[name] ?? "", name);
    if (matrix !== null) table.given[name] = matrix;
  }
  if (!Object.keys(table.given).length) {
    throw new UsageError(
      "Nothing is given yet. Type a matrix, or load an example.",
      STARTS[form.start].fields[0],
    );
  }
  table.claims = {};
  for (const name of STAGE_NAMES.filter((stage) => form.claimed.includes(stage))) {
    const claim = claimTyped(form.claims[name] ?? "", name);
    if (claim !== null) table.claims[name] = claim;
  }
  return { ...table, at: form.at, called: form.called, products: form.products };
};

const wholeNumber = (text) => (/^\d+$/.test(text.trim()) ? Number(text) : text.trim());

const divisorTyped = (text) => {
  if (!text.trim())
    throw new UsageError("scale: a number is missing that divides the scores. Write 8, or 2.5.", "scale");
  const { number } = writtenNumber(text.trim().replace(/^(\d+),(\d+)$/, "$1.$2"), 0, "scale");
  return number;
};

/** 0 and −∞, or true and false. */
const maskTyped = (text) => {
  const rows = typedMatrix(text, "mask");
  if (rows === null)
    throw new UsageError("mask: there is none yet. Write 0 where a query may look, -inf where not.", "mask");
  const read = (cell) => (/^(true|false)$/i.test(cell) ? cell.toLowerCase() === "true" : cell);
  return (function each(part) {
    return Array.isArray(part) ? part.map(each) : read(part);
  })(rows);
};

/** Words apart by spaces; by commas or tabs, where there are any. */
const wordsTyped = (text) =>
  text
    .trim()
    .split(/[\t,\n]/.test(text.trim()) ? /\s*[\t,\n]\s*/ : /\s+/)
    .map((word) => word.replace(/^["']|["']$/g, ""));

const claimTyped = (text, name) => {
  try {
    const claim = typedMatrix(text, name);
    return typeof claim === "string" ? emptyMatrix(...ELIDED.exec(claim).slice(1).map(Number), "…") : claim;
  } catch (error) {
    error.place = `claims.${name}`;
    throw error;
  }
};

/** The form that stands for a table: an example's, or one that somebody pasted. */
const formOfTable = (table) => {
  const given = Object.keys(table.given);
  const start = Object.keys(STARTS).find((name) =>
    given.every((field) => STARTS[name].fields.includes(field)),
  );
  const texts = Object.fromEntries(given.map((name) => [name, matrixAsText(table.given[name])]));
  const claims = Object.fromEntries(
    Object.entries(table.claims ?? {}).map(([name, rows]) => [name, matrixAsText(rows)]),
  );
  const isNumber = table.scale !== undefined && typeof table.scale !== "string";
  const mask = table.mask ?? "none";
  return {
    ...EMPTY_FORM,
    start,
    texts,
    claims,
    claimed: Object.keys(claims),
    heads: table.heads === undefined ? "" : String(table.heads),
    scale: isNumber ? "number" : (table.scale ?? "sqrt_dk"),
    divisor: isNumber ? String(table.scale.value ?? table.scale) : "",
    mask: Array.isArray(mask) ? "own" : mask,
    maskText: Array.isArray(mask) ? matrixAsText(mask) : "",
    tokens: wordsAsText(table.tokens),
    memoryTokens: wordsAsText(table.memory_tokens),
    decimals: table.decimals === undefined ? "" : String(table.decimals),
    name: table.name ?? "",
    about: table.about ?? "",
    note: table.note ?? "",
    lines: table.lines ?? "",
    at: table.at ?? {},
    called: table.called ?? {},
    products: table.products ?? [],
  };
};

const wordsAsText = (words = []) => words.join(words.some((word) => /[\s,]/.test(word)) ? "\t" : " ");

/** What only speaks of the example as it was: gone once a number of it has changed. */
const withoutSource = (form) => ({ ...form, name: "", about: "", note: "", lines: "", at: {}, products: [] });

const ADDRESS_HOLDS = 30000; // letters of a form that an address carries: the least that browsers take is more

/** A form as part of an address; "" for an empty one, null where it is too large for one. */
const formIntoAddress = (form) => {
  const changed = Object.entries(form).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(EMPTY_FORM[key]),
  );
  if (!changed.length) return "";
  const bytes = new TextEncoder().encode(JSON.stringify(Object.fromEntries(changed)));
  const letters = btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=+$/, "");
  return letters.length > ADDRESS_HOLDS ? null : letters;
};

/**
 * The form that an address carries, or null: addresses come from anywhere, so every part of it is looked
 * at.
 */
const formFromAddress = (letters) => {
  try {
    const bytes = Uint8Array.from(atob(letters.replace(/-/g, "+").replace(/_/g, "/")), (letter) =>
      letter.charCodeAt(0),
    );
    const read = JSON.parse(new TextDecoder().decode(bytes));
    const form = { ...EMPTY_FORM };
    for (const [key, value] of Object.entries(read)) if (isPartOfForm(key, value)) form[key] = value;
    return form;
  } catch {
    return null;
  }
};

const isPartOfForm = (key, value) => {
  const expected = EMPTY_FORM[key];
  if (!Object.hasOwn(EMPTY_FORM, key)) return false;
  if (key === "start") return Object.hasOwn(STARTS, value);
  if (key === "claimed") return Array.isArray(value) && value.every((name) => STAGE_NAMES.includes(name));
  if (key === "products")
    return Array.isArray(value) && value.every((product) => isTable(product) && checkedProduct(product, key));
  if (typeof expected === "object")
    return isTable(value) && Object.values(value).every((text) => typeof text === "string");
  return typeof value === "string" && typeof expected === "string";
};
