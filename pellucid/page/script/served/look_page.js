// The page that looks inside a server's model: it shows what the server computes.

import { openServed } from "../runs/served.js";
import { startPage } from "../shown/main.js";

startPage(openServed);
