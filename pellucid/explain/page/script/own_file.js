// One's own example as the file that `pellucid example --file` reads: to take along, and to bring in.

const drawOwnFile = (own, examples, place) => {
  const written = element("textarea", {
    id: "own-toml",
    class: "own-matrix",
    readonly: true,
    rows: 8,
    wrap: "off",
    "data-key": "own-toml",
  });
  const pasted = element("textarea", {
    id: "own-toml-in",
    "data-place": "toml",
    class: "own-matrix",
    rows: 4,
    wrap: "off",
    spellcheck: "false",
    "aria-describedby": "own-toml-error",
    "data-key": "own-toml-in",
  });
  const fault = element("p", { class: "own-error", id: "own-toml-error" });
  const done = element("span", { class: "own-done", role: "status" });
  own.showFile = () => (written.value = writeToml(own.table));
  const copy = async () =>
    (done.textContent = (await copyText(written.value)) ? "Copied." : "Select the text and copy it.");
  place.replaceChildren(
    element(
      "details",
      {},
      element("summary", {}, "As a file"),
      element(
        "p",
        { class: "own-note" },
        "What is in the form, as ",
        element("code", {}, "pellucid example --file example.toml"),
        " reads it.",
      ),
      element("label", { for: "own-toml" }, "The file"),
      written,
      element(
        "div",
        { class: "own-buttons" },
        element("button", { type: "button", click: copy }, "Copy"),
        element(
          "button",
          { type: "button", click: () => downloadText("example.toml", written.value) },
          "Download",
        ),
        done,
      ),
    ),
    element(
      "details",
      {},
      element("summary", {}, "From a file"),
      element("label", { for: "own-toml-in" }, "Paste such a file"),
      pasted,
      fault,
      element(
        "div",
        { class: "own-buttons" },
        element("button", { type: "button", click: () => bringIn(own, examples, pasted, fault) }, "Use it"),
      ),
    ),
  );
};

/** The form as the pasted file says; where something is wrong with it, the text stays, and the form too. */
const bringIn = (own, examples, pasted, fault) => {
  fault.textContent = "";
  try {
    const table = withBase(readToml(pasted.value), examples, "file");
    exampleOf(table, "file");
    own.replace(formOfTable({ ...table, name: "" }), "The form is as the file says.");
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    fault.textContent = error.message;
    say(error.message);
  }
};

const downloadText = (name, text) => {
  const address = URL.createObjectURL(new Blob([text], { type: "application/toml" }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
};
