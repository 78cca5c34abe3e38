// A sentence of the reader's own, and where wanted a translation of their own: why not this one? The words that the
// model knows are offered while typing; errors stand beside their field, and nothing that was typed is lost.

const OFFERED = 6;
let typed = null; // a sentence that is being computed

const drawTyping = (place) => {
  const directions = page.runs[0].model.vocabulary.languages ?? [];
  const targets = [...new Set(directions.map(([, to]) => to))];
  const field = typingField("own-sentence", "text", page.runs[0].text);
  const target = typingField("own-target", "target", page.runs[0].translation);
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
          submitSentence(field, to?.value ?? page.runs[0].to, target);
        },
      },
      element(
        "div",
        { class: "typing-top" },
        element("label", { for: "own-sentence" }, "Try your own sentence"),
        element(
          "button",
          { type: "button", id: "unfold-target", "aria-controls": "target-line", click: () => unfoldTarget(target) },
          "Why not another?",
        ),
      ),
      element("div", { class: "typing-line" }, field, to, element("button", { class: "go" }, "Translate")),
      element("p", { id: "own-sentence-error", class: "error", role: "alert" }),
      element(
        "div",
        { id: "target-line" },
        element("label", { for: "own-target" }, "It is to become (empty: what the model says)"),
        target,
        element("p", { id: "own-target-error", class: "error", role: "alert" }),
      ),
      element("div", { id: "offers", class: "offers", role: "group", "aria-label": "words that the model knows" }),
    ),
  );
  foldTarget(true);
};

const typingField = (id, name, placeholder) => {
  const field = element("input", {
    id,
    name,
    type: "text",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    enterkeyhint: "go",
    "aria-describedby": `${id}-error`,
    "aria-controls": "offers",
    placeholder,
    input: () => offerWords(field),
    keydown: (event) => offerKeys(event, field),
  });
  return field;
};

// The second field

const foldTarget = (folded) => {
  found("target-line").hidden = folded;
  found("unfold-target").setAttribute("aria-expanded", String(!folded));
};

/** Opens the field for a translation of one's own; closed again, it asks for nothing. */
const unfoldTarget = (target) => {
  const folded = !found("target-line").hidden;
  foldTarget(folded);
  if (folded) {
    target.value = "";
    tellTyping("", target);
  } else target.focus();
};

/** "English → Hindi": the languages that are translated into this one. */
const directionName = (directions, target) =>
  `${directions
    .filter(([, to]) => to === target)
    .map(([from]) => languageName(from))
    .join(", ")} → ${languageName(target)}`;

/** The fields say what is shown, unless somebody is typing in them. */
const showTyped = () => {
  const [field, target] = [found("own-sentence"), found("own-target")];
  if (!field || state.text === null || [field, target].includes(document.activeElement)) return;
  field.value = state.text;
  target.value = state.target ?? "";
  foldTarget(state.target === null);
  if (field.form.elements.to && state.to) field.form.elements.to.value = state.to;
};

const languageName = (code) => {
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code);
  } catch {
    return code;
  }
};

/** Translates what was typed and shows it; an error stays beside its field. */
const submitSentence = async (field, to, targetField) => {
  const target = targetField.value.trim() ? targetField.value : null;
  const text = target !== null && !field.value.trim() ? current.base.text : field.value;
  const asked = (typed = Symbol(text));
  tellTyping("", field);
  tellTyping("", targetField);
  field.form.setAttribute("aria-busy", "true");
  try {
    const run = await ownRun(text, to, target);
    if (typed !== asked) return;
    say(`${run.text} becomes ${run.translation}`);
    field.value = text;
    await setState({ text, to, target, run: 0, position: 0, row: null, column: null, mode: "training" });
    redraw(found("offers"));
  } catch (error) {
    if (typed === asked) tellTyping(error.message, error.side === "target" ? targetField : field);
  } finally {
    field.form.removeAttribute("aria-busy");
  }
};

const tellTyping = (message, field) => {
  found(`${field.id}-error`).textContent = message;
  field.setAttribute("aria-invalid", String(Boolean(message)));
};

const ownRuns = new Map();

/** The run over a sentence of the reader's own, made once. */
const ownRun = (text, to, target = null) => {
  const key = JSON.stringify([text, to, target]);
  if (!ownRuns.has(key)) {
    const made = explainText(text, to, target);
    ownRuns.set(key, made);
    made.catch(() => ownRuns.delete(key));
  }
  return ownRuns.get(key);
};

// Words that the model knows

const knownWords = new Map(); // of the source, of the target

const wordsKnown = (side) => {
  const { kind, [side]: pieces } = page.runs[0].model.vocabulary;
  const sorted = () => wordsOfSide(pieces).sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
  if (!knownWords.has(side)) knownWords.set(side, kind === "word" && pieces ? sorted() : []);
  return knownWords.get(side);
};

/** The word at the caret: where it begins, where it ends. */
const wordAtCaret = (field) => {
  const caret = field.selectionStart ?? field.value.length;
  const start = field.value.slice(0, caret).search(/\S*$/);
  const end = caret + field.value.slice(caret).search(/\s|$/);
  return { start, end, text: field.value.slice(start, caret) };
};

const offerWords = (field) => {
  tellTyping("", field);
  const { text } = wordAtCaret(field);
  const begin = text.toLocaleLowerCase();
  const offers = begin
    ? wordsKnown(field.id === "own-target" ? "target" : "source")
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
