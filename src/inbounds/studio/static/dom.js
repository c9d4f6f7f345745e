// Small helpers to make elements, and to bring what is on the page to what it should be. Text is always text: nothing
// is ever parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

const heard = (event) => event.currentTarget.hears[event.type]?.(event);

/* What an element hears is kept in a place of its own, so that it can be exchanged without exchanging the element. */
export function listen(element, kind, action) {
  element.hears ??= {};
  if (!(kind in element.hears)) element.addEventListener(kind, heard);
  element.hears[kind] = action;
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) listen(element, name.slice(2), value);
    else if (name === "value") { element.value = value; element.defaultValue = value; }
    else if (name === "checked") element.checked = element.defaultChecked = true;
    else if (name === "open" || name === "selected" || name === "disabled") element[name] = true;
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
  return h("div", { class: "field", "data-key": id }, h("label", { for: id }, label), input, help ? h("p", { class: "help", id: `${id}-help` }, help) : null);
}

export function choose(options, value, change, properties) {
  const made = h("select", { onchange: (event) => change(event.target.value), ...properties });
  for (const one of options) {
    const [key, words] = Array.isArray(one) ? one : [one, one];
    made.append(h("option", { value: key, selected: key === value }, words));
  }
  made.first = made.value;
  return made;
}

export const type = (value, change, properties) =>
  h("input", { value: value ?? "", onchange: (event) => change(event.target.value.trim()), autocomplete: "off", spellcheck: "false", ...properties });

export const note = (words, kind = "") => h("p", { class: `note ${kind}` }, words);
/* What a table must not hold, by the rules that a plan has. */
export const lacks = ({ unprovided }) => {
  const parts = [["missing", "missing values"], ["other", "values that are no level"]].filter(([key]) => unprovided[key].length);
  return parts.length ? note(`No rule for ${parts.map(([key, words]) => `${words} in ${unprovided[key].join(", ")}`).join(", and for ")}: if there are any, the release is refused after the charge, which stands. A rule is stated under Data.`, "bad") : null;
};
export const worth = (word, before = "") => h("span", { class: `chip ${word === "tells nothing" ? "nothing" : word}` }, before + word);
export const say = (words) => { $("live").textContent = words; };
// A name that may be any text, as part of an id.
export const slug = (text) => Array.from(String(text), (one) => (/[A-Za-z0-9]/.test(one) ? one : `_${one.codePointAt(0).toString(16)}`)).join("");
