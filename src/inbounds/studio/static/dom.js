// Small helpers to make elements. Text is always text: nothing is ever parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") { element.value = value; element.defaultValue = value; }
    else if (name === "checked" || name === "open" || name === "selected" || name === "disabled") element[name] = true;
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined && child !== false) element.append(child);
  return element;
}

export const h = (name, properties, ...children) => fill(document.createElement(name), properties, children);
export const s = (name, properties, ...children) => fill(document.createElementNS(SVG, name), properties, children);
export const $ = (id) => document.getElementById(id);

export function field(id, label, input, help) {
  input.id = id;
  if (help) input.setAttribute("aria-describedby", `${id}-help`);
  return h("div", { class: "field" }, h("label", { for: id }, label), input, help ? h("p", { class: "help", id: `${id}-help` }, help) : null);
}

export function choose(options, value, change, properties) {
  const made = h("select", { onchange: (event) => change(event.target.value), ...properties });
  for (const one of options) {
    const [key, words] = Array.isArray(one) ? one : [one, one];
    made.append(h("option", { value: key, selected: key === value }, words));
  }
  return made;
}

export const type = (value, change, properties) =>
  h("input", { value: value ?? "", onchange: (event) => change(event.target.value.trim()), autocomplete: "off", spellcheck: "false", ...properties });

export const note = (words, kind = "") => h("p", { class: `note ${kind}` }, words);
export const worth = (word) => h("span", { class: `chip ${word === "tells nothing" ? "nothing" : word}` }, word);
export const say = (words) => { $("live").textContent = words; };
// A name that may be any text, as part of an id.
export const slug = (text) => Array.from(String(text), (one) => (/[A-Za-z0-9]/.test(one) ? one : `_${one.codePointAt(0).toString(16)}`)).join("");
