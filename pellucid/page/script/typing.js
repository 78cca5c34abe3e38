// A sentence of the reader's own, and where wanted a translation of their own: why not this one? Errors stand beside
// their field, and nothing that was typed is lost.

let typed = null; // a sentence that is being computed
let notExplained = null; // {text, to, target} of an address: what cannot be explained can still be mended

/** Draw the form for a model; text typed for another model stays in it. */
const drawTyping = (model, place) => {
  const [text, wanted] = ["own-sentence", "own-target"].map((id) => found(id)?.value ?? "");
  place.hidden = !model.computes;
  if (place.hidden) return redraw(place);
  const shown = page.runs[state.run];
  const field = typingField("own-sentence", "text", shown.text, text);
  const target = typingField("own-target", "target", shown.translation, wanted);
  const to = directionChooser(model, shown.to);
  const submit = (event) => {
    event.preventDefault();
    submitSentence(field, to?.value ?? shown.to, target);
  };
  const unfold = { type: "button", id: "unfold-target", "aria-controls": "target-line" };
  redraw(place, [
    element("form", { class: "typing", submit }, [
      element("div", { class: "typing-top" }, [
        element("label", { for: "own-sentence" }, "Try your own sentence"),
        button("Why not another?", () => unfoldTarget(target), unfold),
      ]),
      element("div", { class: "typing-line" }, field, to, element("button", { class: "go" }, "Translate")),
      element("p", { id: "own-sentence-error", class: "error", role: "alert" }),
      element("div", { id: "target-line" }, [
        element("label", { for: "own-target" }, "It is to become (empty: what the model says)"),
        target,
        element("p", { id: "own-target-error", class: "error", role: "alert" }),
      ]),
      element("div", { id: "offers", class: "offers", role: "group", "aria-label": "words that the model knows" }),
    ]),
  ]);
  foldTarget(!wanted);
};

const typingField = (id, name, placeholder, value) => {
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
    value: value || null,
    input: () => {
      if (playing) playOrPause();
      offerWords(field);
    },
    keydown: (event) => offerKeys(event, field),
  });
  return field;
};

/** The languages that a model translates into; null where there is one. */
const directionChooser = ({ vocabulary }, to) => {
  const directions = vocabulary.languages ?? [];
  const targets = [...new Set(directions.map(([, target]) => target))];
  const option = (target) =>
    element("option", { value: target, selected: target === to }, directionName(directions, target));
  return targets.length > 1 ? element("select", { name: "to", "aria-label": "languages" }, targets.map(option)) : null;
};

/** "English → Hindi": the languages that are translated into this one. */
const directionName = (directions, target) =>
  `${directions
    .filter(([, to]) => to === target)
    .map(([from]) => languageName(from))
    .join(", ")} → ${languageName(target)}`;

const languageName = (code) => {
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code);
  } catch {
    return code;
  }
};

// The second field

const foldTarget = (folded) => {
  found("target-line").hidden = folded;
  found("unfold-target").setAttribute("aria-expanded", String(!folded));
};

/** Show or hide the field for the reader's own translation; hidden, it is empty. */
const unfoldTarget = (target) => {
  const folded = !found("target-line").hidden;
  foldTarget(folded);
  if (folded) {
    target.value = "";
    tellTyping("", target);
  } else target.focus();
};

/** Write the shown sentence, or the one of an address that failed, into the fields, unless the reader is typing. */
const showTyped = () => {
  const [field, target] = [found("own-sentence"), found("own-target")];
  const shown = state.text === null ? notExplained : state;
  notExplained = null;
  if (!field || !shown || [field, target].includes(document.activeElement)) return;
  field.value = shown.text;
  target.value = shown.target ?? "";
  foldTarget(!shown.target);
  if (field.form.elements.to && shown.to) field.form.elements.to.value = shown.to;
};

/** Translate what was typed and shows it; an error stays beside its field. */
const submitSentence = async (field, to, targetField) => {
  const target = targetField.value.trim() ? targetField.value : null;
  const text = target !== null && !field.value.trim() ? current.base.text : field.value;
  const asked = (typed = Symbol(text));
  tellTyping("", field);
  tellTyping("", targetField);
  field.form.setAttribute("aria-busy", "true");
  try {
    const run = await ownRun(text, to, target, page.runs[state.run].model);
    if (typed !== asked) return;
    say(`${run.text} becomes ${run.translation}`);
    field.value = text;
    await setState({ text, to, target, position: 0, row: null, column: null, mode: "training" });
    redraw(found("offers"));
  } catch (error) {
    if (typed === asked) tellTyping(error.message, error.side === "target" ? targetField : field, error.unknown);
  } finally {
    field.form.removeAttribute("aria-busy");
  }
};

/** Show what is wrong with a field's text; a click on a similar word replaces an unknown one. */
const tellTyping = (message, field, unknown = null) => {
  const told = capitalised(message.replace(/^(sentence|target): /, ""));
  const near = unknown?.near ?? [];
  const takeNear = (word) =>
    button(words(word), () => takeInstead(field, unknown.word, word), { type: "button", class: "offer" });
  const children = near.length
    ? [told.replace(/Near it: .*$/su, "Near it: "), near.map((word) => [takeNear(word), " "])]
    : [told];
  found(`${field.id}-error`).replaceChildren(...children.flat(Infinity));
  field.setAttribute("aria-invalid", String(Boolean(message)));
};

/** Another word in the place of an unknown one. */
const takeInstead = (field, unknown, word) => {
  const text = visibleText(field.value);
  const start = text.indexOf(unknown);
  if (start >= 0) field.value = field.value.slice(0, start) + word + field.value.slice(start + unknown.length);
  tellTyping("", field);
  field.focus();
};

const ownRuns = new Map();

/** The run of a model over a sentence of the reader's own, made once. */
const ownRun = (text, to, target, model) => {
  const key = JSON.stringify([page.models.indexOf(model), text, to, target]);
  return madeOnce(ownRuns, key, () => {
    const made = explainText(text, to, target, model);
    made.catch(() => ownRuns.delete(key));
    return made;
  });
};
