// Why this word? The ledger of the shown step's word under the stage of the next word, and the source meter under the
// headline. A page that has the weights computes both; another has the source's shares from Python.

import { chip, choiceOf, element, found, rowHead, tableOf, words } from "../base/elements.js";
import { bestPlaces, fourDecimals, inExponents, sumOf } from "../base/numbers.js";
import { madeOnceOf } from "../base/text.js";
import { keptPass, ledgerOf, rankCorrelation, sourceShares } from "../model/ledger.js";
import { fullTitleOf } from "../runs/parts.js";
import { isSwitched } from "../runs/switches.js";
import { NO_MATRIX, setState, state } from "../view/state.js";

const passOf = (run) => madeOnceOf(run, "kept pass", () => keptPass(run.model, run.sourceIds, run.targetIds));

/** Return the source's share in each expected token, or null if this page cannot know it. */
export const sharesOf = (run) => {
  if (isSwitched(run.switches)) return null;
  return run.computes ? sourceShares(passOf(run), run.sentence.expected) : (run.source_shares ?? null);
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
export const askWhy = async () => {
  await setState({ block: "decoder.word", ...NO_MATRIX });
  const place = found("why-word");
  place.scrollIntoView();
  place.querySelector("button")?.focus({ preventScroll: true });
};

const WEIGHTS =
  "This page has no weights of this model, so it cannot compute the ledger. In Python: explanation.ledger(step).";
const SWITCHED = "A ledger is of the pass without switches. Reset them to see it.";
const NO_CAUSE =
  "A ledger is not a cause: a share says what a term adds while attention, norms and gates stay as they are. The columns " +
  "beside it say by how much the logit falls if the term is really taken out and everything is computed again.";
const WAYS = {
  absent: "nothing else looks at the word",
  zero: "the part’s vector at this step is 0",
  mean: "it is its mean over the positions",
};
const READINGS = {
  input: { label: "words read", says: "what each word read adds, over all paths", terms: "byInput", ways: ["absent"] },
  part: {
    label: "parts",
    says: "what each part of the decoder adds at this step",
    terms: "byPart",
    ways: ["zero", "mean"],
    most: 12,
  },
  position: {
    label: "where heads looked",
    says: "what each head took from each position",
    terms: "byPosition",
    ways: [],
    most: 12,
  },
};

/** Make the ledger of the shown step: its sentence, the choice of a reading and of a word to subtract, and the table. */
export const whyWord = (run, switches) => {
  if (state.block !== "decoder.word") return null;
  const { position: step, why, against } = state;
  const expected = run.expected[step];
  const title = element("h2", "Why ", chip(expected), against && [" and not ", chip(against)], "?");
  const shares = sharesOf(run);
  const word = shares && [`${shares[step].toFixed(2)} of `, chip(expected), " comes from the source, and "];
  const meter = shares && element("p", word, meterOf(shares, run.model.usual_share));
  if (!run.computes || isSwitched(switches)) return [title, element("p", run.computes ? SWITCHED : WEIGHTS), meter];
  const ids = [run.sentence.expected[step], ...(against ? [run.model.vocabulary.tokens.target.indexOf(against)] : [])];
  const ledger = madeOnceOf(run, `ledger ${step} ${ids}`, () => ledgerOf(passOf(run), step, ids));
  const { says, terms, ways, most } = READINGS[why];
  const gap = Math.abs(sumOf(ledger[terms].map(({ share }) => share)) - ledger.logit);
  const ranks = ways.map((way) => `${way} (${WAYS[way]}): ${rankCorrelation(ledger[terms], way).toFixed(2)}`);
  const choices = Object.entries(READINGS).map(([key, reading]) => ({
    label: reading.label,
    key: `why-${key}`,
    chosen: key === why,
    choose: () => setState({ why: key }),
  }));
  return [
    title,
    element(
      "p",
      `${against ? "The difference of their logits" : "Its logit"}, ${fourDecimals(ledger.logit)}, is the sum of ${says}.`,
    ),
    element("div.choosers", choiceOf("reading", element("span.label", "the sum of"), choices), lessOf(run, step)),
    element(
      "div.wide-table",
      { tabindex: 0, role: "region", "aria-label": "the ledger" },
      tableOf("ledger", {
        heading: [null, "share", ...ways.map((way) => `fall, ${way}`)],
        rows: rowsOf(run, ledger[terms], ways, most),
        last: [rowHead("sum"), numberCell(ledger.logit), ...ways.map(() => element("td"))],
      }),
    ),
    element("p.note", [
      `The shares add up to it within ${inExponents(gap)}. ${NO_CAUSE}`,
      ranks.length > 0 &&
        ` Rank correlation of the shares and the falls, 1 if their order is the same: ${ranks.join("; ")}.`,
    ]),
    meter,
  ];
};

/** Make the choice of a word to subtract: one of the most probable ones of the step. */
const lessOf = (run, step) => {
  const others = run.steps[step].alternatives.map(([token]) => token).filter((token) => token !== run.expected[step]);
  const choices = [null, ...others].map((token) => ({
    label: token === null ? "nothing" : words(token),
    key: `less-${token}`,
    chosen: token === state.against,
    choose: () => setState({ against: token }),
  }));
  return choiceOf("and not", element("span.label", "less the logit of"), choices);
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
