// What a form for one's own matrices holds: texts as typed, so that nothing is lost, whatever is wrong with it.

import { GIVEN_MATRICES, UsageError, isPerHead, stageNames } from "../runs/worked.js";
import { writtenNumber } from "./judge.js";
import { atPlace, matrixAsText, typedMatrix } from "./typed_matrix.js";

// Which fields each way to begin has. What is typed in the others is kept, and not used.
export const STARTS = {
  inputs: { title: "X and W", fields: ["inputs", "memory", "w_query", "w_key", "w_value", "w_output"] },
  queries: { title: "Q, K, V", fields: ["queries", "keys", "values", "w_output"] },
  scores: { title: "scores", fields: ["scores", "values", "w_output"] },
  scaled_scores: { title: "scaled scores", fields: ["scaled_scores", "values", "w_output"] },
  masked_scores: { title: "masked scores", fields: ["masked_scores", "values", "w_output"] },
  weights: { title: "weights", fields: ["weights", "values", "w_output"] },
  anything: { title: "any of these", fields: GIVEN_MATRICES },
};

export const EMPTY_FORM = {
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

/** The table that a form stands for, as in an example's file; throws for what cannot be read, naming the field. */
export const tableOfForm = (form) => {
  const { about, note, lines, at, called, products } = form;
  const table = { about, note, lines, at, called, products, given: {}, claims: {}, mask: form.mask, scale: form.scale };
  if (form.decimals.trim()) table.decimals = wholeNumber(form.decimals, "decimals");
  if (form.heads.trim()) table.heads = wholeNumber(form.heads, "heads");
  if (form.scale === "number") table.scale = readNumber(form.divisor.trim() || "nothing", "scale");
  if (form.mask === "own") table.mask = addedMask(typedMatrix(form.maskText, "mask"));
  if (table.mask === null) throw new UsageError("mask: type 0 where a query may look, -inf where not.", "mask");
  if (form.tokens.trim()) table.tokens = wordsTyped(form.tokens);
  if (form.memoryTokens.trim()) table.memory_tokens = wordsTyped(form.memoryTokens);
  const { fields } = STARTS[form.start];
  for (const name of fields) {
    const matrix = typedMatrix(form.texts[name] ?? "", name);
    if (matrix !== null) table.given[name] = matrix;
  }
  if (!Object.keys(table.given).length)
    throw new UsageError("Nothing is given yet. Type a matrix, or load an example.", fields[0]);
  for (const name of stageNames().filter((stage) => form.claimed.includes(stage))) {
    const claim = typedMatrix(form.claims[name] ?? "", `claims.${name}`);
    if (claim !== null) table.claims[name] = claim;
  }
  return table;
};

/** What `workedExample` takes: a table with numbers for its texts. */
export const numbersOfTable = ({ given, heads = null, scale, mask, tokens = null, memory_tokens = null }) => {
  const numbers = (part, name) =>
    Array.isArray(part) ? part.map((each) => numbers(each, name)) : readNumber(part, name);
  const arrays = {};
  for (const [name, matrix] of Object.entries(given)) {
    arrays[name] = numbers(matrix, name);
    if (["inputs", "memory"].includes(name) && isPerHead(arrays[name]))
      throw new UsageError(`${name}: one matrix for all heads. Take the empty line out.`, name);
  }
  const shown = { scale: scale === "none" ? null : scale, mask: mask === "none" ? null : mask };
  if (Array.isArray(mask)) shown.mask = numbers(mask, "mask");
  return { arrays, heads, ...shown, tokens, memory_tokens };
};

const readNumber = (cell, place) => atPlace(place, () => writtenNumber(cell, 0, place).number);

/** true and false as what is added to the scores: 0 and −∞. */
const addedMask = (cells) =>
  Array.isArray(cells) ? cells.map(addedMask) : ((cells && { true: "0", false: "-inf" }[cells.toLowerCase()]) ?? cells);

const wholeNumber = (text, place) =>
  atPlace(place, () => {
    if (/^\d+$/.test(text.trim())) return Number(text);
    throw new UsageError(`${place} must be a whole number.`);
  });

/** Words apart by spaces; by commas or tabs, where there are any. */
const wordsTyped = (text) => text.trim().split(/[\t,\n]/.test(text.trim()) ? /\s*[\t,\n]\s*/ : /\s+/);

/** The form that stands for a table: an example's, or one that somebody pasted. */
export const formOfTable = (table) => {
  const { given, claims = {}, mask = "none", scale = "sqrt_dk" } = table;
  const fits = ({ fields }) => Object.keys(given).every((name) => fields.includes(name));
  const asTexts = (matrices) =>
    Object.fromEntries(Object.entries(matrices).map(([name, rows]) => [name, matrixAsText(rows)]));
  const form = {
    ...EMPTY_FORM,
    start: Object.keys(STARTS).find((name) => fits(STARTS[name])) ?? "anything",
    texts: asTexts(given),
    claims: asTexts(claims),
    claimed: Object.keys(claims),
    scale: typeof scale === "number" ? "number" : scale,
    divisor: typeof scale === "number" ? String(scale) : "",
    mask: Array.isArray(mask) ? "own" : mask,
    maskText: Array.isArray(mask) ? matrixAsText(mask) : "",
    heads: String(table.heads ?? ""),
    decimals: String(table.decimals ?? ""),
    tokens: wordsAsText(table.tokens),
    memoryTokens: wordsAsText(table.memory_tokens),
  };
  for (const key of ["name", "about", "note", "lines", "at", "called", "products"])
    form[key] = table[key] ?? EMPTY_FORM[key];
  return form;
};

const wordsAsText = (words = []) => words.join(words.some((word) => /[\s,]/.test(word)) ? "\t" : " ");

/** What only speaks of the example as it was: gone once a number of it has changed. */
export const withoutSource = (form) => ({ ...form, name: "", about: "", note: "", lines: "", at: {}, products: [] });
const ADDRESS_HOLDS = 30000; // letters of a form that an address carries: the least that browsers take is more

/** A form as part of an address; "" for an empty one, null where it is too large for one. */
export const formIntoAddress = (form) => {
  const isChanged = ([key, value]) => JSON.stringify(value) !== JSON.stringify(EMPTY_FORM[key]);
  const changed = Object.entries(form).filter(isChanged);
  if (!changed.length) return "";
  const bytes = new TextEncoder().encode(JSON.stringify(Object.fromEntries(changed)));
  const letters = btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=+$/, "");
  return letters.length > ADDRESS_HOLDS ? null : letters;
};

/** The form that an address carries, null where it carries none: addresses come from anywhere, so every part of it is
 *  looked at. */
export const formFromAddress = (letters) => {
  try {
    const plain = atob(letters.replace(/-/g, "+").replace(/_/g, "/"));
    const read = JSON.parse(new TextDecoder().decode(Uint8Array.from(plain, (letter) => letter.charCodeAt(0))));
    const taken = Object.entries(read).filter(([key, value]) => isPartOfForm(key, value));
    return taken.length ? { ...EMPTY_FORM, ...Object.fromEntries(taken) } : null;
  } catch {
    return null;
  }
};

const isPartOfForm = (key, value) => {
  const isText = (each) => typeof each === "string";
  const isPair = (pair) => Array.isArray(pair) && pair.length === 2 && pair.every(Number.isInteger);
  const expected = EMPTY_FORM[key];
  if (!Object.hasOwn(EMPTY_FORM, key)) return false;
  if (key === "start") return Object.hasOwn(STARTS, value);
  if (key === "claimed") return Array.isArray(value) && value.every((name) => stageNames().includes(name));
  if (key === "products")
    return (
      Array.isArray(value) && value.every((each) => isText(each?.written) && isPair(each.left) && isPair(each.right))
    );
  if (isText(expected)) return isText(value);
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.values(value).every(isText);
};
