// Show the page to others: lecture mode, a link, a frame for another page, and a picture of the model.

import { drawn, element, found } from "../base/elements.js";
import { hashOf, setState, state } from "../view/state.js";

const addressOf = (look) => location.href.replace(/#.*|$/, () => hashOf({ ...state, look }));

/** Copy a text and say so on the button for a while; a browser that does not allow it shows the text instead. */
const copyText = async (text, place) => {
  const copying = navigator.clipboard?.writeText(text) ?? Promise.reject(text);
  place.label ??= place.textContent;
  await copying.then(() => (place.textContent = "Copied")).catch(() => prompt("Copy this:", text));
  setTimeout(() => (place.textContent = place.label), 2000); // milliseconds
};

/** Save what is shown of the model as SVG, which browsers draw: its elements with the page's style. */
const savePicture = () => {
  const shown = found(state.block ? "stage" : "drawing-place");
  const { width, height } = shown.getBoundingClientRect();
  const { body } = document.implementation.createHTMLDocument(); // in it, nothing is loaded or refused
  const written = ({ ownerNode, cssRules }) => ownerNode.textContent || [...cssRules].map(({ cssText }) => cssText);
  const rules = [...document.styleSheets].flatMap(written);
  body.append(body.ownerDocument.importNode(shown, true));
  body.className = document.body.className;
  const painted = shown.querySelectorAll("canvas");
  const paint = ({ style }, at) => (style.background = `url(${painted[at].toDataURL()}) 0 0 / 100% 100%`);
  body.querySelectorAll("canvas").forEach(paint);
  const size = `width="${width}" height="${height}"`;
  const text = (node) => new XMLSerializer().serializeToString(node);
  const inside = `${text(drawn("style", rules.join("\n")))}<foreignObject ${size}>${text(body)}</foreignObject>`;
  const file = new Blob([`<svg xmlns="http://www.w3.org/2000/svg" ${size}>${inside}</svg>`], { type: "image/svg+xml" });
  element("a", { href: URL.createObjectURL(file), download: "pellucid.svg" }).click();
};

const lookAs = (look) => setState({ look }).then(() => dispatchEvent(new Event("resize"))); // matrices fit again

const actions = {
  "start-lecture": () => lookAs("lecture"),
  "end-look": () => lookAs(""),
  "copy-link": (place) => copyText(addressOf(state.look), place),
  "copy-frame": (place) => copyText(`<iframe src="${addressOf("embed")}" width=1000 height=600></iframe>`, place),
  "save-picture": savePicture,
};

export const startSharing = () => {
  for (const [id, act] of Object.entries(actions)) found(id).addEventListener("click", () => act(found(id)));
};
