// Fields for keys of a plan, as the library describes them: what a key takes, what it means, and how it is written.

import { edit } from "/static/app.js";
import { choose, field, h, type } from "/static/dom.js";

const quote = (value) => JSON.stringify(value);

function write(value) {
  if (Array.isArray(value)) return `[${value.map(write).join(", ")}]`;
  if (value && typeof value === "object") return `{ ${Object.entries(value).map(([name, one]) => `${/^[A-Za-z0-9_-]+$/.test(name) ? name : quote(name)} = ${write(one)}`).join(", ")} }`;
  return quote(value);
}

/* A value as a field shows it: text as it is, everything else as in TOML. */
export const spell = (value) => (value === undefined || value === null ? "" : typeof value === "string" ? value : write(value));

const isWritten = (text) => /^[[{"']/.test(text) || /^(true|false)$/.test(text) || /^[-+]?[0-9][-+0-9.eE:_TZ]*$/.test(text);
const item = (text) => (isWritten(text) ? text : quote(text));
const isNumber = (text) => /^[-+]?[0-9][0-9._]*([eE][-+]?[0-9]+)?$/.test(text);

/* What somebody meant by a list: parts with commas between them, or numbers with anything between them. */
function part(text) {
  const words = text.split(/[\s,;]+|\bto\b/).filter(Boolean);
  return words.length && words.every(isNumber) ? words : text.split(",").map((one) => one.trim()).filter(Boolean);
}

/* What somebody typed, as a change of a key: a word is a text, and lists and tables need no brackets. */
export function change(path, kind, text) {
  if (text === "") return { path, value: null };
  if (kind === "text" || kind === "choice") return { path, value: text };
  if (kind === "list") return { path, toml: text.startsWith("[") ? text : `[${part(text).map(item).join(", ")}]` };
  if (kind === "table") return { path, toml: text.startsWith("{") ? text : `{ ${text} }` };
  if (kind === "number") return { path, toml: text };
  if (/^[-+0-9.eE]+(\s*,\s*[-+0-9.eE]+)+$/.test(text)) return { path, toml: `[${text}]` };
  return isWritten(text) ? { path, toml: text } : { path, value: text };
}

const start = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const say = (key) => start(key.name.replaceAll("_", " "));
/* Help of the library, as a sentence. */
const sentence = (text) => start(text.replaceAll("`", "")).replace(/([^.!?])$/, "$1.");

/* The field of one key. */
export function ask(id, path, key, value) {
  const set = (text) => edit(change([...path, key.name], key.kind ?? "any", text));
  const usual = key.default === null || key.default === undefined || key.default === "" ? "" : spell(key.default);
  let input;
  if (key.kind === "flag") input = choose([["", `as usual: ${key.default ? "yes" : "no"}`], ["true", "yes"], ["false", "no"]], value === undefined ? "" : String(value), (text) => edit(text ? { path: [...path, key.name], toml: text } : { path: [...path, key.name], value: null }));
  else if (key.choices?.length) input = choose([["", usual ? `as usual: ${usual}` : "as usual"], ...key.choices], spell(value), set);
  else input = type(spell(value), set, { placeholder: usual });
  return field(`${id}-${key.name}`, `${say(key)}${key.needed ? " (needed)" : ""}`, input, sentence(key.help));
}

/* Keys that few plans need, folded away. It is open where one of them is given. */
export function fold(id, title, path, keys, given) {
  const used = keys.filter((key) => given[key.name] !== undefined);
  return h("details", { id, class: "more", open: used.length > 0 }, h("summary", {}, title, used.length ? h("span", { class: "rule" }, used.map((key) => `${say(key)}: ${spell(given[key.name])}`).join("; ")) : null),
    h("div", { class: "inside grid" }, keys.map((key) => ask(id, path, key, given[key.name]))));
}
