// The file is opened: its header is read, the parameters of its models are unpacked, its explanations become runs.

import { makeTensor, sizeOfShape } from "../base/numbers.js";
import { page } from "../base/page.js";
import { openVocabulary } from "../words/vocabulary.js";
import { numbersIn, openBlock } from "./blocks.js";
import { recordedRun } from "./recorded.js";

/** Read the header of the file; numbers are unpacked later, when a view needs them. */
export const openPage = async () => {
  const header = JSON.parse(document.getElementById("payload").textContent);
  page.models = await Promise.all(header.models.map(openModel));
  page.header = header;
  page.runs = header.runs.map(recordedRun);
  return page;
};

/** The parameters that the page has of a model, by their names in the model's state_dict, and its vocabulary. */
const openModel = async (model) => {
  const parameters = new Map();
  for (const [name, place] of Object.entries(model.parameters)) {
    const numbers = numbersIn(await openBlock(place.block), place, sizeOfShape(place.shape));
    parameters.set(name, makeTensor(place.shape.length === 2 ? "OI" : "O", place.shape, numbers));
  }
  return { ...model, parameters, vocabulary: openVocabulary(model.vocabulary, model.config) };
};
