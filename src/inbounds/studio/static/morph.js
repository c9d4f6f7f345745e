// Bring what is on the page to what it should be, and leave alone what a person has in hand: an element that is still
// wanted is never exchanged, so that focus, text that is being typed, what is open, scrolling and dragging go on.
// Elements are the same if their keys are (`id`, `data-key`, or the id of what names them); without keys, those of one name in their order.
// Children of an element with `data-own` are the matter of its view.

import { listen } from "/static/dom.js";

const key = (node) => (node.nodeType === 1 ? node.id || node.dataset.key || node.getAttribute("aria-labelledby") : null);
const alike = (one, other) => one.nodeName === other.nodeName && one.namespaceURI === other.namespaceURI && key(one) === key(other);
const typed = (element) => element.nodeName === "TEXTAREA" || (element.nodeName === "INPUT" && element.type !== "checkbox");

function attributes(old, made) {
  const kept = (name) => name === "style" || (name === "value" && old.nodeName === "INPUT") || (name === "checked") || (name === "open" && /^(DETAILS|DIALOG)$/.test(old.nodeName));
  for (const { name, value } of [...made.attributes]) if (!kept(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const { name } of [...old.attributes]) if (!kept(name) && !made.hasAttribute(name)) old.removeAttribute(name);
  // As text it would be refused by the page's own policy.
  if (old.style.cssText !== made.style.cssText) old.style.cssText = made.style.cssText;
}

/* A value is set only where the file's changed, and never under the hands of whoever types: what a script puts into a
   field is no change to a browser, and leaving it would save nothing. */
function control(old, made) {
  if (typed(old) && old.defaultValue !== made.defaultValue) {
    const busy = document.activeElement === old && old.value !== old.defaultValue, text = old.value;
    old.defaultValue = made.defaultValue;
    const next = busy ? text : made.value;
    if (old.value !== next) old.value = next;
  } else if (old.nodeName === "INPUT" && old.defaultChecked !== made.defaultChecked) { old.defaultChecked = made.defaultChecked; old.checked = made.checked; }
}

function match(old, made) {
  if (old.nodeType !== 1) { if (old.data !== made.data) old.data = made.data; return; }
  attributes(old, made);
  for (const kind in old.hears) old.hears[kind] = null;
  for (const kind in made.hears) listen(old, kind, made.hears[kind]);
  control(old, made);
  if (old.nodeName === "TEXTAREA" || ("own" in old.dataset && "own" in made.dataset)) return;
  const shown = old.value;
  update(old, ...made.childNodes);
  if (old.nodeName === "SELECT") { const next = old.first === made.first ? shown : made.first; if (old.value !== next) old.value = next; old.first = made.first; }
}

/* Make these the children of a place. */
export function update(place, ...children) {
  const wanted = new Set(children.map(key).filter(Boolean));
  const known = new Map([...place.childNodes].filter(key).map((one) => [key(one), one]));
  let at = place.firstChild;
  for (const made of children) {
    const name = key(made);
    let old = name ? known.get(name) : at;
    if (name) { if (old && !alike(old, made)) old = null; } else while (old && !alike(old, made)) old = old.nextSibling;
    if (!old) { place.insertBefore(made, at); continue; }
    // What lies between is no longer wanted, or is wanted further down.
    while (at !== old && at && !(key(at) && wanted.has(key(at)))) { const next = at.nextSibling; at.remove(); at = next; }
    if (at === old) at = old.nextSibling; else place.insertBefore(old, at);
    if (name) { known.delete(name); wanted.delete(name); }
    match(old, made);
  }
  while (at) { const next = at.nextSibling; at.remove(); at = next; }
}

/* Choices and sliders show what the file has; a text that was refused stays, to be corrected. */
export function undo(place) {
  for (const one of place.querySelectorAll("select, input[type=checkbox], input[type=range]")) {
    if (one.nodeName === "SELECT") { if (one.first !== undefined) one.value = one.first; } else if (one.type === "checkbox") one.checked = one.defaultChecked; else if (one.hasAttribute("value")) one.value = one.defaultValue;
  }
}
