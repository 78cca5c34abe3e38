// One's own example as the file that `pellucid example --file` reads: to take along, and to bring in.

const drawOwnFile = (own, examples, place) => place.replaceChildren(fileToTake(own), fileToBring(own, examples));

const fileText = (properties) =>
  element("textarea", { class: "own-matrix", wrap: "off", "data-key": properties.id, ...properties });

const fileButton = (title, click) => element("button", { type: "button", click }, title);

const fileToTake = (own) => {
  const written = fileText({ id: "own-toml", readonly: true, rows: 8 });
  const done = element("span", { role: "status" });
  own.showFile = () => (written.value = writeToml(own.table));
  const copy = async () =>
    (done.textContent = (await copyText(written.value)) ? "Copied." : "Select the text and copy it.");
  const command = element("code", {}, "pellucid example --file example.toml");
  return element(
    "details",
    {},
    element("summary", {}, "As a file"),
    element("p", { class: "own-note" }, "What is in the form, as ", command, " reads it."),
    element("label", { for: "own-toml" }, "The file"),
    written,
    element(
      "div",
      { class: "own-buttons" },
      fileButton("Copy", copy),
      fileButton("Download", () => downloadText("example.toml", written.value)),
      done,
    ),
  );
};

const fileToBring = (own, examples) => {
  const pasted = fileText({
    id: "own-toml-in",
    "data-place": "toml",
    rows: 4,
    spellcheck: "false",
    "aria-describedby": "own-toml-error",
  });
  const fault = element("p", { class: "own-error", id: "own-toml-error" });
  const use = fileButton("Use it", () => bringIn(own, examples, pasted, fault));
  return element(
    "details",
    {},
    element("summary", {}, "From a file"),
    element("label", { for: "own-toml-in" }, "Paste such a file"),
    pasted,
    fault,
    element("div", { class: "own-buttons" }, use),
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
