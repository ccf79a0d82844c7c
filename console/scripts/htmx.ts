// The extensions look for htmx among the globals.
import htmx from "npm/htmx.esm.js";

Object.assign(window, { htmx });
