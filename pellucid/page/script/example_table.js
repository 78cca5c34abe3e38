// A worked example as a table: that of its TOML file, as the page carries it and as a form makes it. The
// errors are those of `pellucid example --file`.

const EXAMPLE_SETTINGS = ["heads", "scale", "mask", "tokens", "memory_tokens"];
const EXAMPLE_TEXTS = ["like", "about", "note", "lines", "decimals"];
const EXAMPLE_TABLES = ["given", "claims", "at", "called", "products"];
const ELIDED = /^…\s*(\d+)\s*×\s*(\d+)$/; // "… 8×4": a matrix of which only the shape is known
const ELIDED_CELLS = 1_000_000; // of such a matrix

/** {name, asked (what workedExample takes), claims, decimals, about, note, lines, at, called, products}. */
const exampleOf = (table, where) => {
  refuseUnknown(table, ["name", ...EXAMPLE_SETTINGS, ...EXAMPLE_TEXTS, ...EXAMPLE_TABLES], where);
  for (const key of ["given", "claims", "at", "called"]) {
    if (!isTable(table[key] ?? {})) throw new UsageError(`${where}: ${key} must be a table: [${key}].`);
  }
  if (!Object.keys(table.given ?? {}).length) {
    const write = "Write [given] and, in it, queries = [[…], …] and so on";
    throw new UsageError(`${where}: nothing is given. ${write}.`);
  }
  refuseUnknown(table.given, GIVEN_MATRICES, `${where}: [given]`);
  const asked = {};
  for (const [name, value] of Object.entries(table.given))
    asked[name] = readMatrix(value, `${where}: ${name}`, name);
  for (const key of EXAMPLE_SETTINGS) {
    if (key in table) asked[key] = table[key] === "none" ? null : (table[key]?.value ?? table[key]);
  }
  if (table.heads?.unquoted) asked.heads = table.heads.unquoted; // 2.0 is no whole number
  if (Array.isArray(asked.mask)) asked.mask = readMatrix(asked.mask, `${where}: mask`, "mask");
  checkTexts(table, where);
  const {
    name = where,
    claims = {},
    decimals = null,
    about = "",
    note = "",
    lines = "",
    at = {},
    called = {},
  } = table;
  const products = (table.products ?? []).map((product) => checkedProduct(product, where));
  return { name, asked, claims, decimals, about, note, lines, at, called, products };
};

/** `like` another example: what it gives and its settings, except where this one says otherwise. */
const withBase = (table, examples, where) => {
  if (!("like" in table)) return table;
  if (!isTable(table.given ?? {}) || typeof table.like !== "string") {
    throw new UsageError('like = "004-self" names an example, and [given] is a table of matrices.');
  }
  const base = examples.find((example) => example.name === table.like);
  if (!base) {
    const near = closeMatches(
      table.like,
      examples.map((example) => example.name),
      3,
      0.4,
    );
    const told = near.length ? `Nearest: ${near.join(", ")}` : `There are ${examples.length}`;
    throw new UsageError(`${where}: no example is called "${table.like}". ${told}.`);
  }
  const taken = Object.fromEntries(
    [...EXAMPLE_SETTINGS, "called"].filter((key) => key in base).map((key) => [key, base[key]]),
  );
  const { like, ...own } = table;
  return { ...taken, ...own, given: { ...base.given, ...table.given } };
};

const isTable = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !("unquoted" in value);

const refuseUnknown = (table, known, where) => {
  for (const key of Object.keys(table)) {
    if (known.includes(key)) continue;
    const near = closeMatches(key, known, 2, 0.5);
    const told = `${near.length ? "Nearest" : "Known"}: ${(near.length ? near : known).join(", ")}`;
    throw new UsageError(`${where}: ${key} is not known. ${told}.`);
  }
};

const checkTexts = (table, where) => {
  for (const key of ["tokens", "memory_tokens"]) {
    const words = table[key] ?? [];
    if (Array.isArray(words) && words.every((word) => typeof word === "string")) continue;
    throw new UsageError(`${where}: ${key} must be a list of words, ["Me", "gustan"].`, key);
  }
  for (const key of ["about", "note", "lines"]) {
    if (typeof (table[key] ?? "") === "string") continue;
    throw new UsageError(`${where}: ${key} = ${shownValue(table[key])} must be text: ${key} = "…".`);
  }
  for (const key of ["at", "called"]) {
    for (const [name, said] of Object.entries(table[key] ?? {})) {
      if (typeof said === "string") continue;
      throw new UsageError(`${where}: [${key}] ${name} = ${shownValue(said)} must be text: ${name} = "…".`);
    }
  }
  if (!Array.isArray(table.products ?? []))
    throw new UsageError(`${where}: products must be tables: [[products]].`);
};

const checkedProduct = (product, where) => {
  const isPair = (pair) => Array.isArray(pair) && pair.length === 2 && pair.every(Number.isInteger);
  if (!isPair(product?.left) || !isPair(product?.right) || product.written === undefined) {
    const write = 'written = "W_O · Concat", left = [8, 8], right = [2, 8]';
    throw new UsageError(`${where}: a product is ${write}.`);
  }
  const { written, lines = "", left, right } = product;
  return { written: String(written), lines: String(lines), left, right };
};

/** "(8×8)·(2×8) does not multiply: 8 columns, 2 rows". */
const productText = ({ left, right }) => {
  const both = `(${left.join("×")})·(${right.join("×")})`;
  if (left[1] === right[0]) return `${both} = (${left[0]}×${right[1]})`;
  return `${both} does not multiply: ${left[1]} columns, ${right[0]} rows`;
};

/** Numbers, with NaN for "…". */
const readMatrix = (value, where, place) => {
  if (typeof value === "boolean") return value;
  if (Array.isArray(value)) return value.map((entry) => readMatrix(entry, where, place));
  const shape = typeof value === "string" && ELIDED.exec(value);
  if (shape && Number(shape[1]) * Number(shape[2]) > ELIDED_CELLS) {
    const problem = `${where}: "${value.slice(0, 40)}" is too large for an example`;
    throw new UsageError(`${problem}. Give 1,000,000 cells at most.`, place);
  }
  if (shape) return emptyMatrix(Number(shape[1]), Number(shape[2]), NaN);
  try {
    return writtenNumber(value, 0, where).number;
  } catch (error) {
    error.place = place;
    throw error;
  }
};
