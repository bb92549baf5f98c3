import { name } from "./module.js";
postMessage(name);
