// The widget of a notebook (anywidget): the page in a frame, and a post between the page and Python. It imports nothing.

const render = ({ model, el }) => {
  const frame = document.createElement("iframe");
  // Without allow-same-origin, so that the page reaches nothing of the notebook.
  Object.assign(frame, { title: "Pellucid", sandbox: "allow-scripts allow-downloads", srcdoc: model.get("_html") });
  Object.assign(frame, {
    name: model.get("address"),
    style: `width: 100%; height: ${model.get("height")}px; border: 0`,
  });

  const toPage = (message) => frame.contentWindow?.postMessage(message, "*");
  let told = frame.name; // the last address that the page knows
  const showAddress = () => model.get("address") === told || toPage({ address: model.get("address") });
  const fromPage = ({ source, data }) => {
    if (source !== frame.contentWindow) return;
    if (data.question) return void model.send(data);
    told = data.address;
    model.set("address", told);
    model.set("_shown", data.shown);
    model.save_changes();
  };

  addEventListener("message", fromPage);
  model.on("msg:custom", toPage);
  model.on("change:address", showAddress);
  el.append(frame);
  return () => {
    removeEventListener("message", fromPage);
    model.off("msg:custom", toPage);
    model.off("change:address", showAddress);
  };
};

export default { render };
