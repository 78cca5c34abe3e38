// What a form for one's own matrices holds: texts as typed, by the names of their fields, so that nothing is lost,
// whatever is wrong with them. A field of a claim is "claims.weights"; a text that is missing is empty.

import { page } from "../base/page.js";
import { UsageError, matrixAsText, typedMatrix } from "./typed_matrix.js";
import { stageNames } from "./worked.js";

/** The ways to begin, each with the fields that it has. What is typed in the others is kept, and not used. */
export const startsOfForm = () => page.header.own.starts;

export const EMPTY_FORM = {
  name: "", // of an example, while its numbers are unchanged
  start: "inputs",
  masking: "none",
  scaling: "sqrt_dk",
  scaled: "false",
  claimed: "", // the stages whose claims are judged
};

/** The stages that come of a way to begin, those with claims among them. */
export const stagesOfStart = (start) => {
  const { parts = [""] } = startsOfForm()[start];
  return stageNames().filter((name) =>
    parts.some((part) => (part ? name.startsWith(`${part}.`) : !name.includes("."))),
  );
};

export const claimedStages = ({ start, claimed }) =>
  stagesOfStart(start).filter((name) => claimed.split(" ").includes(name));

/** The settings that a way to begin has, an attention's where it names none. */
export const settingsOfStart = (start) =>
  startsOfForm()[start].settings ?? ["mask", "scale", "heads", "tokens", "memory_tokens"];

/** The table that a form stands for, as in an example's file; throws for what cannot be read, naming the field. */
export const tableOfForm = (form) => {
  const { fields, needs = [] } = startsOfForm()[form.start];
  const table = { given: {}, claims: {} };
  for (const name of settingsOfStart(form.start)) {
    const value = SETTINGS[name](form, name);
    if (value !== null) table[name] = value;
  }
  const matrices = (names, into, prefix = "") => {
    for (const name of names) {
      const matrix = typedMatrix(form[prefix + name] ?? "", prefix + name);
      if (matrix !== null) into[name] = matrix;
    }
  };
  matrices(fields, table.given);
  const missing = needs.find((name) => !(name in table.given));
  if (missing) throw new UsageError(`${missing}: nothing is given. Type a matrix, or load an example.`, missing);
  if (!Object.keys(table.given).length)
    throw new UsageError("Nothing is given yet. Type a matrix, or load an example.", fields[0]);
  matrices(claimedStages(form), table.claims, "claims.");
  const decimals = wholeNumber(form, "decimals");
  return decimals === null ? table : { ...table, decimals };
};

const wholeNumber = (form, name) => {
  const text = form[name]?.trim();
  if (!text) return null;
  if (/^\d+$/.test(text)) return Number(text);
  throw new UsageError(`${name} must be a whole number.`, name);
};

/** Words apart by spaces; by commas or tabs, where there are any. */
const wordsTyped = (form, name) => {
  const text = form[name]?.trim();
  return text ? text.split(/[\t,\n]/.test(text) ? /\s*[\t,\n]\s*/ : /\s+/) : null;
};

// What each setting is in a file.
const SETTINGS = {
  mask: ({ masking, mask }) => {
    if (masking !== "own") return masking;
    const typed = typedMatrix(mask ?? "", "mask");
    if (typed === null) throw new UsageError("mask: type 0 where a query may look, -inf where not.", "mask");
    return addedMask(typed);
  },
  scale: ({ scaling, scale }) => (scaling === "number" ? Number(scale?.trim() || NaN) : scaling),
  scaled: ({ scaled }) => scaled === "true",
  heads: wholeNumber,
  vocabulary: wholeNumber,
  tokens: wordsTyped,
  memory_tokens: wordsTyped,
};

/** true and false as what is added to the scores: 0 and −∞. */
const addedMask = (cells) =>
  Array.isArray(cells) ? cells.map(addedMask) : ({ true: "0", false: "-inf" }[cells.toLowerCase()] ?? cells);

/** The form that stands for a table: an example's, or one that somebody pasted. */
export const formOfTable = (table) => {
  const { name = "", given = {}, claims = {}, mask = "none", scale = "sqrt_dk", scaled = false } = table;
  const starts = startsOfForm();
  const fits = (start) => Object.keys(given).every((each) => starts[start].fields.includes(each));
  const form = { ...EMPTY_FORM, name, start: Object.keys(starts).find(fits) ?? "anything", scaled: String(scaled) };
  const { fields } = starts[form.start];
  const stages = stagesOfStart(form.start);
  const other =
    Object.keys(given).find((each) => !fields.includes(each)) ??
    Object.keys(claims).find((each) => !stages.includes(each));
  if (other) throw new UsageError(`${other} is not known here, or does not go with the others. Leave it out.`, other);
  form.claimed = Object.keys(claims).join(" ");
  form.masking = Array.isArray(mask) ? "own" : mask;
  form.scaling = typeof scale === "number" ? "number" : scale;
  if (form.masking === "own") form.mask = matrixAsText(mask);
  if (form.scaling === "number") form.scale = String(scale);
  for (const key of ["heads", "vocabulary", "decimals"]) if (table[key] !== undefined) form[key] = String(table[key]);
  for (const key of ["tokens", "memory_tokens"]) if (table[key]) form[key] = wordsAsText(table[key]);
  for (const [each, matrix] of Object.entries(given)) form[each] = matrixAsText(matrix);
  for (const [each, matrix] of Object.entries(claims)) form[`claims.${each}`] = matrixAsText(matrix);
  return form;
};

const wordsAsText = (words) => words.join(words.some((word) => /[\s,]/.test(word)) ? "\t" : " ");

/** A form as part of an address: what is empty is left out. */
export const formIntoAddress = (form) =>
  JSON.stringify(Object.fromEntries(Object.entries(form).filter(([, typed]) => typed)));

/** The form that an address carries, null where it carries none: addresses come from anywhere, so only texts count. */
export const formFromAddress = (text) => {
  try {
    const texts = Object.entries(JSON.parse(text)).filter(([, value]) => typeof value === "string");
    const form = { ...EMPTY_FORM, ...Object.fromEntries(texts) };
    return texts.length && form.start in startsOfForm() ? form : null;
  } catch {
    return null;
  }
};
