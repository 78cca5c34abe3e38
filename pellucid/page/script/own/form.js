// What a form for one's own matrices holds: texts as typed, by the names of their fields, so that nothing is lost,
// whatever is wrong with them. A field of a claim is "claims.weights"; a text that is missing is empty.

import { page } from "../base/page.js";
import { UsageError, typedMatrix } from "./typed_matrix.js";
import { stageNames } from "./worked.js";

/** An empty form. */
export const EMPTY_FORM = { name: "", start: "inputs", masking: "none", scaling: "sqrt_dk", scaled: "false" };

/** The possible starts, each with its fields. Text in other fields is kept, but not used. */
export const startsOfForm = () => page.header.own.starts;

/** The stages that follow from a start; claims can be made about them. */
export const stagesOfStart = (start) => {
  const { parts = [""] } = startsOfForm()[start];
  return stageNames().filter((name) =>
    parts.some((part) => (part ? name.startsWith(`${part}.`) : !name.includes("."))),
  );
};

/** The settings of a start; if it names none, those of an attention. */
export const settingsOfStart = (start) =>
  startsOfForm()[start].settings ?? ["mask", "scale", "heads", "tokens", "memory_tokens"];

/** The form as a table, as in an example's file; throws an error with the field's name for text that cannot be read. */
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

/** Words separated by tabs if there are any, else by commas or lines, else by spaces. */
const wordsTyped = (form, name) => {
  const text = form[name]?.trim();
  return text ? text.split(/\t/.test(text) ? /\s*[\t\n]\s*/ : /[,\n]/.test(text) ? /\s*[,\n]\s*/ : /\s+/) : null;
};

// What each setting is in a file.
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

/** A form as part of an address, without empty fields. */
export const formIntoAddress = (form) =>
  JSON.stringify(Object.fromEntries(Object.entries(form).filter(([, typed]) => typed)));

/** The form in an address, or null. Addresses can come from anywhere, so only texts are accepted. */
export const formFromAddress = (text) => {
  try {
    const texts = Object.entries(JSON.parse(text)).filter(([, value]) => typeof value === "string");
    const form = { ...EMPTY_FORM, ...Object.fromEntries(texts) };
    return texts.length && form.start in startsOfForm() ? form : null;
  } catch {
    return null;
  }
};
