// Why this word? Under the stage of the next word, the ledger of the shown step's word or the causal map of a source word;
// under the headline, the source meter. A page that has the weights computes them; another has the source's shares alone.

import { chip, choiceOf, element, found, rowHead, tableOf, words } from "../base/elements.js";
import { bestPlaces, fourDecimals, inExponents, sumOf } from "../base/numbers.js";
import { capitalised, madeOnceOf } from "../base/text.js";
import { causalMapOf, stepLosingMost } from "../model/causal_map.js";
import { keptPass, ledgerOf, rankCorrelation, sourceShares } from "../model/ledger.js";
import { shadeOf } from "../matrices/scales.js";
import { fullTitleOf, splitName } from "../runs/parts.js";
import { isSwitched } from "../runs/switches.js";
import { NO_MATRIX, choiceTo, setState, state } from "../view/state.js";

const passOf = (run) => madeOnceOf(run, "kept pass", () => keptPass(run.model, run.sourceIds, run.targetIds));

/** Return the source's share in each expected token, or null if this page cannot know it. */
export const sharesOf = (run) => {
  if (isSwitched(run.switches)) return null;
  return run.computes ? sourceShares(passOf(run), idsOf(run)) : (run.source_shares ?? null);
};

/** Warn if less of the translation comes from the source than is usual for the model; null if there is no reason to. */
export const sourceWarning = (run) => {
  const [shares, usual] = [sharesOf(run), run.model.usual_share];
  if (!shares?.length || !usual || meanOf(shares) >= usual.low) return null;
  return [meterOf(shares, usual), " That is little: it may be an invention."];
};

const meanOf = (shares) => sumOf(shares) / shares.length;

/** Say, with a bar, how much of the translation comes from the source, and what is usual for the model. */
const meterOf = (shares, usual) => {
  const mean = meanOf(shares);
  const range = usual && { "--low": usual.low.toFixed(4), "--high": usual.high.toFixed(4), class: "has-usual" };
  return [
    `${mean.toFixed(2)} of the translation `,
    element("span.source-bar", { "aria-hidden": "true", "--share": mean.toFixed(4), ...range }),
    " comes from the source, not from its own words before",
    usual && ` (usual here: ${usual.low.toFixed(2)} to ${usual.high.toFixed(2)})`,
    ".",
  ];
};

/** Open the next word's block at its ledger. */
export const askWhy = () => openWhy({ corrupted: null });

/** Open it at the causal map of a source word, at the step that loses the most without it. */
export const askWhatCarries = (run, corrupted) => {
  const isKnown = run.computes && !isSwitched(run.switches);
  return openWhy({ corrupted, ...(isKnown && { position: stepLosingMost(passOf(run), idsOf(run), corrupted) }) });
};

const idsOf = (run) => run.sentence.expected;

const openWhy = async (changes) => {
  await setState({ block: "decoder.word", ...NO_MATRIX, ...changes });
  const place = found("why-word");
  place.scrollIntoView();
  place.querySelector("[aria-pressed=true]")?.focus({ preventScroll: true });
};

const SWITCHED = "This is told of the pass without switches. Reset them to see it.";
const weightsMissing = ({ text, to }, token) =>
  "This page has no weights of this model, so it cannot compute this. Python can: " +
  `pellucid explain MODEL "${text}"${to ? ` --to ${to}` : ""} ${token ? `--map ${token}` : `--ledger ${state.position + 1}`}`;
const NO_CAUSE =
  "A ledger is not a cause: a share says what a term adds while attention, norms and gates stay as they are. The columns " +
  "beside it say by how much the logit falls if the term is really taken out and everything is computed again.";
const WAYS = {
  absent: ["without it", "nothing else looks at the word"],
  zero: ["with 0", "the part’s vector at this step is 0"],
  mean: ["with mean", "it is its mean over the positions"],
};
const READINGS = {
  input: { label: "words read", says: "what each word read adds, over all paths", terms: "byInput", ways: ["absent"] },
  part: { label: "parts", says: "what each decoder part adds", terms: "byPart", ways: ["zero", "mean"], most: 12 },
  position: { label: "where heads looked", says: "what each head took where", terms: "byPosition", ways: [], most: 12 },
};

/** Make the answer for the shown step: the ledger or a causal map, with the choice of another one. */
export const whyWord = (run, switches) => {
  if (state.block !== "decoder.word") return null;
  const { position: step, corrupted } = state;
  const expected = run.expected[step];
  const shares = sharesOf(run);
  const word = shares && [`${shares[step].toFixed(2)} of `, chip(expected), " comes from the source, and "];
  const meter = shares && element("p", word, meterOf(shares, run.model.usual_share));
  const answer = () => (corrupted === null ? ledgerInWords(run, step) : mapInWords(run, step, corrupted));
  if (isSwitched(switches)) return [question(run), element("p", SWITCHED), meter];
  if (!run.computes) return [question(run), element("p", weightsMissing(run, run.source[corrupted])), meter];
  return [question(run), choosers(run, step), answer(), meter];
};

const question = ({ expected, source }) => {
  const { position, against, corrupted } = state;
  if (corrupted === null)
    return element("h2", "Why ", chip(expected[position]), against && [" and not ", chip(against)], "?");
  return element("h2", "What carries ", chip(source[corrupted]), " to ", chip(expected[position]), "?");
};

/** Make the choices of what is shown: a reading of the ledger, a word to subtract, or a source word to follow. */
const choosers = (run, step) => {
  const { why, corrupted } = state;
  const readings = Object.entries(READINGS).map(([key, { label }]) =>
    choiceTo(`why-${key}`, label, key === why && corrupted === null, { why: key, corrupted: null }),
  );
  const sources = run.source.map((token, at) =>
    choiceTo(`map-${at}`, words(token), at === corrupted, { corrupted: at }),
  );
  return element("div.choosers", [
    choiceOf("reading", element("span.label", "the sum of"), readings),
    corrupted === null && lessOf(run, step),
    choiceOf("what carries", element("span.label", "or what carries"), sources),
  ]);
};

/** Tell the ledger of a step: its sentence and its table. */
const ledgerInWords = (run, step) => {
  const { why, against } = state;
  const ids = [idsOf(run)[step], ...(against ? [run.model.vocabulary.tokens.target.indexOf(against)] : [])];
  const ledger = madeOnceOf(run, `ledger ${step} ${ids}`, () => ledgerOf(passOf(run), step, ids));
  const { says, terms, ways, most } = READINGS[why];
  const gap = Math.abs(sumOf(ledger[terms].map(({ share }) => share)) - ledger.logit);
  const ranks = ways.map((way) => `${WAYS[way].join(" (")}): ${rankCorrelation(ledger[terms], way).toFixed(2)}`);
  const of = against ? "The difference of their logits" : "Its logit";
  return [
    element("p", `${of}, ${fourDecimals(ledger.logit)}, is the sum of ${says}.`),
    tableIn("the ledger", {
      heading: [null, "share", ...ways.map((way) => `fall ${WAYS[way][0]}`)],
      rows: rowsOf(run, ledger[terms], ways, most),
      last: [rowHead("sum"), numberCell(ledger.logit), ...ways.map(() => element("td"))],
    }),
    element("p.note", [
      `The shares add up to it within ${inExponents(gap)}. ${NO_CAUSE}`,
      ranks.length > 0 &&
        ` Rank correlation of the shares and the falls, 1 if their order is the same: ${ranks.join("; ")}.`,
    ]),
  ];
};

const tableIn = (says, table, kind = "ledger") =>
  element("div.wide-table.role-w", { tabindex: 0, role: "region", "aria-label": says }, tableOf(kind, table));

const LITTLE = 0.01; // of the probability: if less is lost, its shares say nothing

/** Tell the causal map of a source word for a step: its sentence, and a table for each stack. */
const mapInWords = (run, step, place) => {
  const make = () => causalMapOf(passOf(run), idsOf(run), place, step);
  const { clean, corrupt, restored } = madeOnceOf(run, `map ${place} ${step}`, make);
  const lost = clean - corrupt;
  const cell = (probability) => {
    const share = lost ? (probability - corrupt) / lost : 0;
    const shade = shadeOf(Math.max(-1, Math.min(1, share)));
    return element("td.number", shade, (Math.round(share * 100) / 100 || 0).toFixed(2)); // no −0
  };
  const tables = Object.entries({ encoder: run.source, decoder: run.target.slice(0, step + 1) }).map(
    ([stack, read]) => {
      const rows = restored.filter(({ name }) => name.startsWith(stack));
      const labelOf = (name) => fullTitleOf(splitName(name).path).split(", ")[1].replace("add & norm", "its output");
      const table = {
        heading: [capitalised(stack), ...read.map((token) => words(token))],
        rows: rows.map(({ name, row }) => [rowHead(labelOf(name)), row.map(cell)]),
      };
      return tableIn(`the map of the ${stack}`, table, "map");
    },
  );
  return [
    element("p", [
      "If ",
      chip(run.source[place]),
      " is made unreadable (its embedding becomes the mean of all), the probability of ",
      chip(run.expected[step]),
      ` goes from ${fourDecimals(clean)} to ${fourDecimals(corrupt)}. `,
      lost < LITTLE
        ? "So little is lost that its shares below say nothing: choose another word or step."
        : "Below, one vector at a time becomes again what it was: the share of the lost probability that comes back.",
    ]),
    tables,
  ];
};

/** Make the choice of a word to subtract: one of the most probable ones of the step. */
const lessOf = (run, step) => {
  const others = run.steps[step].alternatives.map(([token]) => token).filter((token) => token !== run.expected[step]);
  const choices = [null, ...others].map((against) =>
    choiceTo(`less-${against}`, against ? words(against) : "no other word", against === state.against, { against }),
  );
  return choiceOf("compared with", element("span.label", "compared with"), choices);
};

const numberCell = (number) => element("td.number", number === undefined ? "" : fourDecimals(number));

/** Make a row for each term, or for the largest ones and one for the sum of the others. */
const rowsOf = (run, terms, ways, most = terms.length) => {
  const sizes = terms.map(({ share }) => Math.abs(share));
  const order = most < terms.length ? bestPlaces(sizes, most) : [...terms.keys()];
  const largest = Math.max(...sizes);
  const rows = order.map((at) => {
    const { share } = terms[at];
    const bar = { "aria-hidden": "true", class: share < 0 && "minus", "--share": (sizes[at] / largest).toFixed(4) };
    const cell = element("td.number", fourDecimals(share), element("span.share-bar", bar));
    return [rowHead(nameOf(run, terms[at])), cell, ...ways.map((way) => numberCell(terms[at][way]))];
  });
  const rest = terms.filter((_, at) => !order.includes(at));
  if (!rest.length) return rows;
  const sum = sumOf(rest.map(({ share }) => share));
  return [...rows, [rowHead(`the other ${rest.length}`), numberCell(sum), ...ways.map(() => element("td"))]];
};

const nameOf = (run, { stack, place, part, name, head, at }) => {
  if (stack) {
    const [side, tokens] = stack === "encoder" ? ["source", run.source] : ["target", run.target];
    return place === null ? `${side}: its positions` : [`${side}: `, words(tokens[place])];
  }
  if (!part) return "biases";
  if (part === "decoder")
    return name === "positions" ? "its position" : ["the word read, ", words(run.target[state.position])];
  const tokens = part.endsWith("cross_attention") ? run.source : run.target;
  return [
    fullTitleOf(part).replace("decoder, ", ""),
    head !== undefined && `, head ${head}`,
    at !== undefined && [", looking at ", words(tokens[at])],
  ];
};
