// Numbers as somebody wrote them: "0.40" says two digits, "1.0" one, "…" is left out. A cell is a text, a
// number, or {unquoted: "1.0"}: a number of a TOML file, which stands without quotes, as Python writes it.

const LEFT_OUT = ["…", "...", "⋮", "⋯", "⋱", ""];
const EXACT = 1e-9; // added to every slack: what float64 itself may lose
const POWERS = 300; // of ten, that a written number may have: a float64 has some 308
const NUMBER = /^[+-]?(\d+\.?(\d*)|\.(\d+))(?:e([+-]?\d+))?$/i;

/** {number, half, written}: half a unit of the last digit as written; NaN for what is left out. */
const writtenNumber = (written, decimals = null, where = "claim") => {
  const isText = typeof written === "string";
  const text = written === null || written === undefined ? "…" : textOf(written).trim();
  if (LEFT_OUT.includes(text) || text.toLowerCase() === "nan") return { number: NaN, half: 0, written: "…" };
  const plain = plainDigits(text.replace(/[−–]/g, "-").replaceAll("∞", "inf").replaceAll("_", ""));
  const infinite = /^([+-]?)inf(inity)?$/i.exec(plain);
  if (infinite) {
    const number = infinite[1] === "-" ? -Infinity : Infinity;
    return { number, half: 0, written: text.replaceAll("inf", "∞").replaceAll("-", "−") };
  }
  const parts = NUMBER.exec(plain);
  if (!parts || typeof written === "boolean") {
    throw new UsageError(
      `${where}: "${text}" is not a number. Write 0.25, -inf, or … for one left out.`,
      where,
    );
  }
  let places = (parts[2] ?? parts[3] ?? "").length - Number(parts[4] ?? 0);
  const digits = plain.replace(/e.*/i, "").replace(/[^0-9]/g, "").replace(/^0+/, "");
  const power = digits.length - 1 - places; // of the first digit
  if (places < -POWERS || (digits && !(power >= -POWERS && power <= POWERS))) {
    const problem = `${where}: "${text.slice(0, 40)}" is too large or too small for float64`;
    throw new UsageError(`${problem}. Write a number between 1e-${POWERS} and 1e${POWERS}.`, where);
  }
  if ((places <= 0 && !plain.toLowerCase().includes("e")) || (decimals !== null && !isText)) {
    if (decimals === null) {
      const problem = `${where}: the whole number ${text} does not say to how many digits it was rounded`;
      throw new UsageError(`${problem}. Write "${text.replace(/\.+$/, "")}.0", or give decimals=0.`, where);
    }
    places = Math.min(decimals, POWERS);
  }
  return { number: Number(plain), half: 0.5 * 10 ** -places, written: text.replace(/[-–]/g, "−") };
};

const textOf = (written) =>
  typeof written === "boolean" ? shownValue(written) : String(written.unquoted ?? written);

/** The digits of any script (०.४) as 0 to 9; their blocks begin with the zero and have ten each. */
const plainDigits = (text) =>
  text.replace(/\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0);
    let zero = code;
    while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
    return String((code - zero) % 10);
  });

/**
 * The claims in the order of computation, by stage: {written, numbers, halves, isWhole}, a matrix for each head.
 * `widths` says how wide queries, keys and values are whole: so they may be claimed too.
 */
const readClaims = (claims, heads, decimals = null, widths = {}) => {
  if (decimals !== null && !(Number.isInteger(decimals) && decimals >= 0)) {
    throw new UsageError(`decimals = ${shownValue(decimals)} must be a whole number, 0 or more.`, "decimals");
  }
  for (const name of Object.keys(claims)) {
    if (STAGE_NAMES.includes(name)) continue;
    const near = closeMatches(name, STAGE_NAMES, 3, 0.5);
    const known = (near.length ? near : STAGE_NAMES).join(", ");
    throw new UsageError(`no stage is called '${name}'. Nearest: ${known}.`, "claims");
  }
  const read = {};
  for (const name of STAGE_NAMES)
    if (name in claims) read[name] = readClaim(name, claims[name], heads, decimals, widths[name] ?? 0);
  return read;
};

/** A matrix, or one for each head where the stage has heads, or the whole one, `width` columns wide. */
const readClaim = (name, matrix, heads, decimals, width) => {
  const place = `claims.${name}`;
  const isMatrix = Array.isArray(matrix) && Array.isArray(matrix[0]) && matrix[0].length > 0;
  const perHead = isMatrix && Array.isArray(matrix[0][0]);
  const matrices = perHead ? matrix : [matrix];
  const isWhole =
    isMatrix && matrices.length === 1 && heads > 1 && matrices[0].every((row) => row?.length === width);
  if (isMatrix && !isWhole) checkHeads(name, matrices.length, heads, width, place);
  if (!isMatrix || !matrices.every((each) => Array.isArray(each) && each.every(Array.isArray))) {
    throw new UsageError(`${name}: the claim is not a matrix. Write rows, [["0.4", "0.6"], …].`, place);
  }
  const widths = new Set(matrices.flat().map((row) => row.length));
  if (widths.size !== 1 || new Set(matrices.map((each) => each.length)).size !== 1) {
    throw new UsageError(`${name}: the claimed rows differ in length. Write … for what is left out.`, place);
  }
  const typed = matrices.map((each) => mapCells(each, (cell) => claimedNumber(cell, decimals, name, place)));
  const cells = isWhole ? splitHeads(typed[0], heads) : typed;
  const picked = (part) => cells.map((each) => mapCells(each, (cell) => cell[part]));
  return { written: picked("written"), numbers: picked("number"), halves: picked("half"), isWhole };
};

/** Throws unless there is a claimed matrix for each of the stage's. */
const checkHeads = (name, claimed, heads, width, place) => {
  const hasHeads = STAGE_AXES[name].includes("H");
  const wanted = hasHeads ? heads : 1;
  if (claimed === wanted) return;
  if (claimed === 1) {
    const problem = `${name}: ${heads} heads have a matrix each, and one is claimed`;
    const whole = width ? `, or the whole one, of ${width} columns` : "";
    throw new UsageError(`${problem}. Give ${heads}${whole}.`, place);
  }
  const one = hasHeads ? "is one head" : "is one for all heads";
  const there = wanted === 1 ? one : `are ${wanted} heads`;
  const problem = `${name}: ${claimed} matrices are claimed, and there ${there}`;
  throw new UsageError(`${problem}. Give ${wanted}.`, place);
};

const claimedNumber = (cell, decimals, name, place) => {
  try {
    return writtenNumber(cell, decimals, name);
  } catch (error) {
    error.place = place;
    throw error;
  }
};
