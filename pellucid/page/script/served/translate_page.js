// The page that translates as one types. A word of the translation can be replaced by another; what follows changes.

import { KEY, pause } from "../base/asking.js";
import { button, element, fill, found, redraw, say, words } from "../base/elements.js";
import { fourDecimals } from "../base/numbers.js";
import { roam } from "../base/roam.js";
import { languageName } from "../base/tokens.js";
import { othersAt } from "./others.js";
import { chooseTranslation, chosenOf, sentencesOf, translateSentences, translationOf, wordsIn } from "./sentences.js";

const AUTO = "auto";
const REST = 0.25; // seconds without a key, after which the text is translated
const pairs = JSON.parse(found("pairs").textContent);

let newest = new AbortController(); // the newest question; it ends the one before
let shown = null; // {pair, parts, chosen: the sentence to look inside with}: what is shown as the translation

/** Ask with `question(settings)`, unless something newer is asked before it is answered. Errors are told. */
const askNewest = async (question) => {
  newest.abort();
  const mine = (newest = new AbortController());
  const settings = { signal: mine.signal, tell: (text) => mine === newest && found("waiting").replaceChildren(text) };
  settings.tell("");
  tellFault("");
  try {
    const answer = await question(settings);
    return mine === newest ? answer : null;
  } catch (error) {
    if (mine === newest) {
      tellFault(error.message, error.status);
      setBusy(false);
    }
    return null;
  }
};

const setBusy = (isBusy) => found("translation").setAttribute("aria-busy", String(isBusy));

const tellFault = (message, status = 0) => {
  found("fault").textContent = message;
  found("key").hidden = status !== 403;
};

/** Translate the text after a pause; a newer text, or a change of the languages, comes first. */
const translate = async (rest = REST) => {
  const [text, languages] = [found("text").value, { source: found("source").value, target: found("target").value }];
  const parts = sentencesOf(text);
  const sentences = parts.map(({ sentence }) => sentence).filter(Boolean);
  setBusy(true);
  const pair = await askNewest(async (settings) => {
    await pause(rest, settings.signal);
    return sentences.length ? translateSentences(sentences, languages, settings) : languages;
  });
  if (!pair) return;
  shown = { pair, parts, chosen: sentences[0] };
  showDetected(pair.source);
  showTranslation();
  say(found("translation").textContent);
};

const showDetected = (source) => {
  const option = found("source").querySelector(`[value=${AUTO}]`);
  if (!option) return;
  const isDetected = found("source").value === AUTO && source !== AUTO;
  option.textContent = isDetected ? `Detected: ${languageName(source)}` : "Detect the language";
};

const showTranslation = () => {
  const { pair, parts } = shown;
  const place = found("translation");
  place.lang = pair.target;
  setBusy(false);
  const written = (part, at) => [part.before, part.sentence && wordButtons(part, at), part.after];
  redraw(place, parts.map(written));
  roam(place);
  closeOthers();
  showInside();
};

/** Make a sentence's translation, with a button for each word. */
const wordButtons = (part, at) => {
  const text = translationOf(shown.pair, part.sentence);
  let end = 0;
  const nodes = wordsIn(text, shown.pair.target).map((place) => {
    const between = text.slice(end, place.start);
    end = place.end;
    const key = `${at} ${place.start}`;
    return [between, button(place.word, () => openOthers(part, place, key), { class: "word", "data-key": key })];
  });
  return element("bdi", nodes, text.slice(end));
};

/** Show what else could stand in place of a word. */
const openOthers = async (part, place, key) => {
  if (found("translation").ariaBusy === "true") return; // these words will soon be others
  const { pair } = shown;
  const translation = translationOf(pair, part.sentence);
  shown.chosen = part.sentence;
  showInside();
  for (const each of found("translation").querySelectorAll(".word"))
    each.setAttribute("aria-expanded", String(each.dataset.key === key));
  say(`looking for others in place of ${place.word}`);
  const others = await askNewest((settings) => othersAt(part.sentence, translation, place, pair, settings));
  if (!others) return;
  const choose = ({ word, text }) => {
    chooseTranslation(pair, part.sentence, text);
    showTranslation();
    focusWord(key);
    say(`${word}: ${text}`);
  };
  const close = () => {
    closeOthers();
    focusWord(key);
  };
  const offers = others.map((other) =>
    button([words(other.word), " ", element("span.share", fourDecimals(other.probability))], () => choose(other), {
      title: other.text,
    }),
  );
  const heading = [
    others.length ? "In place of " : "Nothing else in place of ",
    words(place.word, { class: "chip" }),
    ":",
  ];
  const closing = button("×", close, { "aria-label": "Close" });
  const leave = (event) => event.key === "Escape" && close();
  await fill(found("others"), [element("div.offers", { keydown: leave }, element("p", heading), offers, closing)]);
  found("others").querySelector("button").focus();
};

const closeOthers = () => {
  found("others").hidden = true;
  for (const each of found("translation").querySelectorAll(".word")) each.removeAttribute("aria-expanded");
};

/** Move the focus to a word; if it is there no more, to the first. */
const focusWord = (key) => {
  const all = [...found("translation").querySelectorAll(".word")];
  (all.find((each) => each.dataset.key === key) ?? all[0])?.focus();
};

/** By the arrow keys to the word before or after, in the order of reading; up and down to the nearest (roam.js). */
const stepWord = (event) => {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!by || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  const all = [...found("translation").querySelectorAll(".word")];
  const onwards = getComputedStyle(event.currentTarget).direction === "rtl" ? -by : by;
  all[all.indexOf(event.target) + onwards]?.focus();
};

/** Show a link to the page that looks inside the model, with the chosen sentence. A translation goes with it if it is the
 *  reader's, by words that they chose. */
const showInside = () => {
  const { pair, chosen: text } = shown;
  const translation = text && chosenOf(pair, text);
  const asked = new URLSearchParams({ text, ...pair, ...(translation && { translation }) });
  fill(found("inside"), text ? element("a", { href: `look?${asked}` }, "Look inside: ", words(text)) : null);
};

/** Fill the choosers of languages; of two languages, only pairs that a model translates can be chosen. */
const fillLanguages = () => {
  const names = (codes) => [...new Set(codes)].map((code) => element("option", { value: code }, languageName(code)));
  const [source, target] = [found("source"), found("target")];
  const [from, to] = [source.value || AUTO, target.value];
  const sources = pairs.map(([each]) => each);
  const auto = new Set(sources).size > 1 && element("option", { value: AUTO }, "Detect the language");
  redraw(source, auto, names(sources));
  source.value = [...source.options].some(({ value }) => value === from) ? from : source.options[0].value;
  redraw(target, names(pairs.filter(([each]) => [each, AUTO].includes(source.value)).map(([, each]) => each)));
  if ([...target.options].some(({ value }) => value === to)) target.value = to;
};

/** Translate back: the translation becomes the text. */
const exchange = () => {
  const { source, target } = shown?.pair ?? { source: found("source").value, target: found("target").value };
  if (!pairs.some(([from, to]) => from === target && to === source))
    return tellFault(`No model translates ${languageName(target)} to ${languageName(source)}.`);
  found("text").value = found("translation").textContent;
  found("source").value = target;
  fillLanguages();
  found("target").value = source;
  translate(0);
};

const startPage = () => {
  fillLanguages();
  found("text").addEventListener("input", () => translate());
  found("source").addEventListener("change", () => {
    fillLanguages();
    translate(0);
  });
  found("target").addEventListener("change", () => translate(0));
  found("translation").addEventListener("keydown", stepWord);
  found("exchange").addEventListener("click", exchange);
  found("key").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem(KEY, found("own-key").value.trim());
    translate(0);
  });
  document.body.classList.add("alive");
  if (found("text").value) translate(0); // the browser kept it
};

startPage();
