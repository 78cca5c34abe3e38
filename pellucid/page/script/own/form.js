// A form for the reader's own matrices, as a map from field names to the typed texts: so even wrong input is kept. The
// field of a claim is called "claims.weights", for example. A missing text is empty.

import { page } from "../base/page.js";
import { UsageError, typedMatrix } from "./typed_matrix.js";
import { stageNames } from "./worked.js";

/** An empty form. */
export const EMPTY_FORM = { name: "", start: "inputs", masking: "none", scaling: "sqrt_dk", scaled: "false" };

/** Return the possible starts, each with its fields. Text in other fields is kept, but not used. */
export const startsOfForm = () => page.header.own.starts;

/** Return the stages that follow from a start; claims can be made about them. */
export const stagesOfStart = (start) => {
  const { parts = [""] } = startsOfForm()[start];
  return stageNames().filter((name) =>
    parts.some((part) => (part ? name.startsWith(`${part}.`) : !name.includes("."))),
  );
};

/** Return the settings of a start; if it names none, the settings of an attention. */
export const settingsOfStart = (start) =>
  startsOfForm()[start].settings ?? ["mask", "scale", "heads", "tokens", "memory_tokens"];

/** Return the form as a table, as in an example's file. For unreadable text, throw an error with the field's name. */
export const tableOfForm = (form) => {
  const { fields, needs = [] } = startsOfForm()[form.start];
  const table = {
    given: matricesTyped(form, fields),
    claims: matricesTyped(form, stagesOfStart(form.start), "claims."),
  };
  for (const name of [...settingsOfStart(form.start), "decimals"]) {
    const value = SETTINGS[name](form, name);
    if (value !== null) table[name] = value;
  }
  const missing = needs.find((name) => !(name in table.given));
  if (missing) throw new UsageError(`${missing}: nothing is given. Type a matrix, or choose an example.`, missing);
  if (!Object.keys(table.given).length)
    throw new UsageError("Nothing is given yet. Type or paste a matrix, or choose an example.");
  return table;
};

const matricesTyped = (form, names, prefix = "") => {
  const typed = names.map((name) => [name, typedMatrix(form[prefix + name] ?? "", prefix + name)]);
  return Object.fromEntries(typed.filter(([, matrix]) => matrix !== null));
};

const wholeNumber = (form, name) => {
  const text = form[name]?.trim();
  if (!text) return null;
  if (/^\d+$/.test(text)) return Number(text);
  throw new UsageError(`${name} must be a whole number.`, name);
};

/** Split a text at tabs and lines if it has tabs, otherwise at commas and lines if it has any, otherwise at spaces. */
const wordsTyped = (form, name) => {
  const text = form[name]?.trim();
  return text ? text.split(/\t/.test(text) ? /\s*[\t\n]\s*/ : /[,\n]/.test(text) ? /\s*[,\n]\s*/ : /\s+/) : null;
};

// For each setting, a function that returns its value for an example's file.
const SETTINGS = {
  mask: ({ masking, mask }) => {
    if (masking !== "own") return masking;
    const typed = typedMatrix(mask ?? "", "mask");
    if (typed === null) throw new UsageError("mask: type 0 where a query may look, -inf where not.", "mask");
    return typed;
  },
  scale: ({ scaling, scale }) => (scaling === "number" ? Number(scale?.trim() || NaN) : scaling),
  scaled: ({ scaled }) => scaled === "true",
  heads: wholeNumber,
  vocabulary: wholeNumber,
  decimals: wholeNumber,
  tokens: wordsTyped,
  memory_tokens: wordsTyped,
};

/** Write a form for an address, without empty fields. */
export const formIntoAddress = (form) =>
  JSON.stringify(Object.fromEntries(Object.entries(form).filter(([, typed]) => typed)));

/** Read the form in an address, or return null. Addresses can come from anywhere, so only texts are accepted. */
export const formFromAddress = (text) => {
  try {
    const texts = Object.entries(JSON.parse(text)).filter(([, value]) => typeof value === "string");
    const form = { ...EMPTY_FORM, ...Object.fromEntries(texts) };
    return texts.length && form.start in startsOfForm() ? form : null;
  } catch {
    return null;
  }
};
