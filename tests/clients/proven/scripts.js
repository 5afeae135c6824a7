// Prints the scripts that packages build when they are loaded: one JSON object a line, with a number of keys where it is known.
"use strict";

const tell = (of, name, text, keys) => console.log(JSON.stringify({ package: of, name, text, keys }));

// BullMQ keeps each script with the files that it includes, and its number of keys.
const { readdirSync } = require("node:fs");
const { dirname, join } = require("node:path");
const folder = join(dirname(require.resolve("bullmq")), "scripts");
for (const file of readdirSync(folder)) {
  if (!file.endsWith(".js") || file === "index.js") continue;
  for (const script of Object.values(require(join(folder, file)))) tell("bullmq", script.name, script.content, script.keys);
}

// Bottleneck puts its scripts together from pieces.
const scripts = require("bottleneck/lib/Scripts");
for (const name of scripts.names) tell("bottleneck", name, scripts.payload(name), scripts.keys(name, "x").length);
