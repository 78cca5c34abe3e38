// A sentence of the reader's own: the words that the model knows are offered while typing; errors stand beside the
// field, and nothing that was typed is lost.

const OFFERED = 6;
let typed = null; // a sentence that is being computed

const drawTyping = (place) => {
  const directions = page.runs[0].model.vocabulary.languages ?? [];
  const targets = [...new Set(directions.map(([, to]) => to))];
  const field = element("input", {
    id: "own-sentence",
    name: "text",
    type: "text",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    enterkeyhint: "go",
    "aria-describedby": "typing-error",
    "aria-controls": "offers",
    placeholder: page.runs[0].text,
    input: () => offerWords(field),
    keydown: (event) => offerKeys(event, field),
  });
  const to =
    targets.length > 1
      ? element(
          "select",
          { name: "to", "aria-label": "languages" },
          targets.map((target) =>
            element(
              "option",
              { value: target, selected: target === page.runs[0].to },
              directionName(directions, target),
            ),
          ),
        )
      : null;
  redraw(
    place,
    element(
      "form",
      {
        class: "typing",
        submit: (event) => {
          event.preventDefault();
          submitSentence(field, to?.value ?? page.runs[0].to);
        },
      },
      element("label", { for: "own-sentence" }, "Try your own sentence"),
      element("div", { class: "typing-line" }, field, to, element("button", { class: "go" }, "Translate")),
      element("div", { id: "offers", class: "offers", role: "group", "aria-label": "words that the model knows" }),
      element("p", { id: "typing-error", class: "error", role: "alert" }),
    ),
  );
};

/** "English → Hindi": the languages that are translated into this one. */
const directionName = (directions, target) =>
  `${directions
    .filter(([, to]) => to === target)
    .map(([from]) => languageName(from))
    .join(", ")} → ${languageName(target)}`;

/** The field says the sentence that is shown, unless somebody is typing in it. */
const showTyped = () => {
  const field = found("own-sentence");
  if (!field || state.text === null || document.activeElement === field) return;
  field.value = state.text;
  if (field.form.elements.to && state.to) field.form.elements.to.value = state.to;
};

const languageName = (code) => {
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code);
  } catch {
    return code;
  }
};

/** Translates what was typed and shows it; an error stays beside the field. */
const submitSentence = async (field, to) => {
  const text = field.value;
  const asked = (typed = Symbol(text));
  tellTyping("");
  field.form.setAttribute("aria-busy", "true");
  try {
    const run = await ownRun(text, to);
    if (typed !== asked) return;
    say(`${run.text} becomes ${run.translation}`);
    await setState({ text, to, run: 0, position: 0, row: null, column: null, mode: "training" });
    redraw(found("offers"));
  } catch (error) {
    if (typed === asked) tellTyping(error.message, error);
  } finally {
    field.form.removeAttribute("aria-busy");
  }
};

const tellTyping = (message) => {
  const place = found("typing-error");
  if (place) place.textContent = message;
  found("own-sentence")?.setAttribute("aria-invalid", String(Boolean(message)));
};

const ownRuns = new Map();

/** The run over a sentence of the reader's own, made once. */
const ownRun = (text, to) => {
  const key = JSON.stringify([text, to]);
  if (!ownRuns.has(key)) {
    const made = explainText(text, to);
    ownRuns.set(key, made);
    made.catch(() => ownRuns.delete(key));
  }
  return ownRuns.get(key);
};

// Words that the model knows

let knownWords = null;

const wordsKnown = () => {
  const { kind, source } = page.runs[0].model.vocabulary;
  knownWords ??=
    kind === "word" && source ? wordsOfSide(source).sort((a, b) => a.length - b.length || (a < b ? -1 : 1)) : [];
  return knownWords;
};

/** The word at the caret: where it begins, where it ends. */
const wordAtCaret = (field) => {
  const caret = field.selectionStart ?? field.value.length;
  const start = field.value.slice(0, caret).search(/\S*$/);
  const end = caret + field.value.slice(caret).search(/\s|$/);
  return { start, end, text: field.value.slice(start, caret) };
};

const offerWords = (field) => {
  tellTyping("");
  const { text } = wordAtCaret(field);
  const begin = text.toLocaleLowerCase();
  const offers = begin
    ? wordsKnown()
        .filter((word) => word.toLocaleLowerCase().startsWith(begin) && word !== text)
        .slice(0, OFFERED)
    : [];
  redraw(
    found("offers"),
    offers.map((word) =>
      element(
        "button",
        {
          type: "button",
          class: "offer",
          click: () => takeWord(field, word),
          keydown: (event) => offerKeys(event, field),
        },
        words(word),
      ),
    ),
  );
};

const takeWord = (field, word) => {
  const { start, end } = wordAtCaret(field);
  const after = field.value.slice(end);
  field.value = `${field.value.slice(0, start)}${word}${after || " "}`;
  field.focus();
  const caret = start + word.length + (after ? 0 : 1);
  field.setSelectionRange(caret, caret);
  offerWords(field);
};

/** Down goes to the words offered, up and Escape back to the field. */
const offerKeys = (event, field) => {
  const offers = [...found("offers").children];
  const at = offers.indexOf(event.target);
  const to = {
    ArrowDown: at + 1,
    ArrowRight: at < 0 ? null : at + 1,
    ArrowUp: at - 1,
    ArrowLeft: at < 0 ? null : at - 1,
  }[event.key];
  if (event.key === "Escape" && at >= 0) field.focus();
  else if (to === undefined || to === null || offers.length === 0) return;
  else if (to < 0) field.focus();
  else (offers[to] ?? offers.at(-1)).focus();
  event.preventDefault();
  event.stopPropagation();
};
