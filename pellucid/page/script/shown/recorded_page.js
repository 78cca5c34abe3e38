// The page of a translation: it shows what the file holds.

import { openPage } from "../runs/recorded.js";
import { startPage } from "./main.js";

startPage(openPage);
