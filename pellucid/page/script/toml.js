// The part of TOML that examples are written in: tables, texts on one line, numbers, true and false, and
// arrays. A number with a point or an exponent becomes {unquoted, value}: its digits count where it is
// claimed.

const readToml = (text) => new TomlReader(text).read();

class TomlReader {
  constructor(text) {
    this.text = text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
    this.at = 0;
  }

  read() {
    const root = {};
    let table = root;
    for (this.skip(); this.at < this.text.length; this.skip()) {
      const header = this.take(/\[(\[?)\s*([A-Za-z0-9_-]+)\s*(\]?)\]/y);
      if (header) {
        if (Boolean(header[1]) !== Boolean(header[3]))
          this.refuse("a table is [name] or, of several, [[name]]");
        table = this.open(root, header[2], Boolean(header[1]));
      } else this.pair(table);
      this.lineEnds();
    }
    return root;
  }

  open(root, name, isOneOfSeveral) {
    if (!isOneOfSeveral) {
      if (Object.hasOwn(root, name)) this.refuse(`${name} is there twice`);
      return (root[name] = {});
    }
    if (!Array.isArray((root[name] ??= []))) this.refuse(`${name} is there twice`);
    return root[name][root[name].push({}) - 1];
  }

  pair(table) {
    const key = this.take(/([A-Za-z0-9_-]+|"[^"\\\n]*"|'[^'\n]*')[ \t]*=[ \t]*/y);
    if (!key) this.refuse("write name = value, or [given], or a comment after #");
    const name = key[1].replace(/^["']|["']$/g, "");
    if (Object.hasOwn(table, name)) this.refuse(`${name} is there twice`);
    table[name] = this.value();
  }

  value() {
    if (this.take(/\[/y)) return this.list();
    const quoted = this.take(/"((?:[^"\\\n]|\\.)*)"(?!")/y);
    if (quoted) return this.unescape(quoted[1]);
    const literal = this.take(/'([^'\n]*)'(?!')/y);
    if (literal) return literal[1];
    const word = this.take(/[^\s,\]#]+/y)?.[0] ?? "";
    if (word === "true" || word === "false") return word === "true";
    if (/^[+-]?(0|[1-9](_?\d)*)$/.test(word)) return Number(word.replaceAll("_", ""));
    if (/^[+-]?(inf|nan|(0|[1-9](_?\d)*)(\.\d(_?\d)*)?([eE][+-]?\d(_?\d)*)?)$/.test(word)) {
      const value = Number(word.replaceAll("_", "").replace("inf", "Infinity").replace("nan", "NaN"));
      return { unquoted: pythonFloat(value), value };
    }
    const more =
      word.startsWith("{") || word.startsWith('"') || word.startsWith("'")
        ? ". This page reads texts on one line, numbers and arrays"
        : "";
    return this.refuse(`"${word}" is no value: texts stand in quotes${more}`);
  }

  list() {
    const parts = [];
    for (this.skip(); !this.take(/\]/y); this.skip()) {
      if (this.at >= this.text.length) this.refuse("a [ is not closed");
      parts.push(this.value());
      this.skip();
      if (this.at >= this.text.length) this.refuse("a [ is not closed");
      if (!this.take(/,/y) && this.text[this.at] !== "]")
        this.refuse("a comma is missing between two values, or a ]");
    }
    return parts;
  }

  unescape(text) {
    const plain = { b: "\b", t: "\t", n: "\n", f: "\f", r: "\r", '"': '"', "\\": "\\" };
    return text.replace(/\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)/g, (_, code) => {
      if (code.length > 1) return String.fromCodePoint(Number.parseInt(code.slice(1), 16));
      return plain[code] ?? this.refuse(`\\${code} means nothing in a text`);
    });
  }

  /** Spaces, empty lines and comments. */
  skip() {
    this.take(/(?:\s|#[^\n]*)*/y);
  }

  lineEnds() {
    if (!this.take(/[ \t]*(?:#[^\n]*)?(?:\n|$)/y)) this.refuse("the line should end here");
  }

  take(pattern) {
    pattern.lastIndex = this.at;
    const taken = pattern.exec(this.text);
    if (taken) this.at = pattern.lastIndex;
    return taken;
  }

  refuse(why) {
    const before = this.text.slice(0, this.at).split("\n");
    throw new UsageError(`not TOML: ${why} (line ${before.length}). Mend it there.`, "toml");
  }
}

/** A float as Python's str writes it: 1.0, 0.4, 1e-05, -1000000000.0. */
const pythonFloat = (value) => {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  const [digits, power] = value.toExponential().split("e");
  const exponent = Number(power);
  if (value !== 0 && (exponent < -4 || exponent >= 16)) {
    return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  const decimals = Math.max(1, digits.replace(/[-.]/g, "").length - 1 - exponent);
  return Object.is(value, -0) ? "-0.0" : value.toFixed(Math.min(100, decimals));
};

/** The TOML of an example's table, as `pellucid example --file` reads it. */
const writeToml = (table) => {
  const lines = [];
  for (const key of [...EXAMPLE_TEXTS, ...EXAMPLE_SETTINGS]) {
    if (table[key] !== undefined && table[key] !== null)
      lines.push(`${key} = ${tomlValue(table[key], false)}`);
  }
  for (const key of ["given", "claims", "at", "called"]) {
    const entries = Object.entries(table[key] ?? {});
    if (!entries.length) continue;
    lines.push("", `[${key}]`);
    for (const [name, value] of entries) lines.push(`${name} = ${tomlValue(value, key === "claims")}`);
  }
  for (const { written, lines: at, left, right } of table.products ?? []) {
    lines.push(
      "",
      "[[products]]",
      ...(at ? [`lines = ${tomlText(at)}`] : []),
      `written = ${tomlText(written)}`,
    );
    lines.push(`left = [${left.join(", ")}]`, `right = [${right.join(", ")}]`);
  }
  return `${lines.join("\n").trim()}\n`;
};

const PLAIN_NUMBER = /^[+-]?(inf|(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?)$/i;

/** A value; claimed numbers are texts, for their digits count, and so is what is no plain number. */
const tomlValue = (value, isClaimed, indent = "") => {
  if (Array.isArray(value)) {
    const parts = value.map((part) => tomlValue(part, isClaimed, `${indent}    `));
    const isRow = !value.some(Array.isArray);
    const together = `[${parts.join(", ")}]`;
    if (isRow || (value.length === 1 && !together.includes("\n"))) return together;
    return `[\n${parts.map((part) => `${indent}    ${part},\n`).join("")}${indent}]`;
  }
  if (value?.unquoted !== undefined) return value.unquoted;
  if (typeof value !== "string") return typeof value === "number" ? tomlNumber(value) : String(value);
  const plain = value.replace("−", "-");
  return !isClaimed && indent && PLAIN_NUMBER.test(plain) ? plain : tomlText(value);
};

const tomlNumber = (value) =>
  Number.isInteger(value) && Math.abs(value) < 1e15 ? String(value) : pythonFloat(value);

const tomlText = (text) => {
  const escaped = text
    .replace(/["\\]/g, "\\$&")
    .replace(/\p{Cc}/gu, (letter) => `\\u${letter.codePointAt(0).toString(16).padStart(4, "0")}`);
  return `"${escaped}"`;
};
