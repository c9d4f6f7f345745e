// The frame of the page: what is open, which view is shown, and what every browser is told.

import { get, post, Refusal } from "/static/api.js";
import { $, h, note, say } from "/static/dom.js";
import data from "/static/views/data.js";
import plan from "/static/views/plan.js";
import preview from "/static/views/preview.js";
import release from "/static/views/release.js";
import ledger from "/static/views/ledger.js";
import learn from "/static/views/learn.js";

const VIEWS = { data, plan, preview, release, ledger, learn };
const TITLES = { data: "Data", plan: "Plan", preview: "Preview", release: "Release", ledger: "Ledger", learn: "Learn" };

export const page = { state: null, statistics: [], view: null, keep: {} };

const chosen = () => { const name = location.hash.slice(1); return name in VIEWS ? name : page.state?.plan ? "plan" : "data"; };

function frame() {
  const { files, plan: name, read } = page.state;
  const options = files.plans.map((one) => h("option", { value: one, selected: one === name }, one));
  if (!name) options.unshift(h("option", { value: "", selected: true }, "none yet"));
  $("plans").replaceChildren(...options);
  $("steps").replaceChildren(...Object.entries(TITLES).map(([key, title]) =>
    h("li", {}, h("a", { href: `#${key}`, "aria-current": key === page.view ? "page" : null }, title,
      key === "plan" && read?.mistakes.length ? ` (${read.mistakes.length})` : ""))));
  $("saved").textContent = !read ? "" : read.mistakes.length ? `saved, ${read.mistakes.length} mistake${read.mistakes.length > 1 ? "s" : ""}` : "saved";
  document.title = `${TITLES[page.view]} – ${name ?? page.state.folder} – inbounds studio`;
}

/* Make the view again, with the focus and what is being typed where they were. */
export function show() {
  const main = $("view"), active = document.activeElement;
  const held = active?.id && main.contains(active)
    ? { id: active.id, value: active.value, dirty: active.value !== active.defaultValue && /INPUT|TEXTAREA/.test(active.tagName) && active.type !== "range", start: active.selectionStart, end: active.selectionEnd, top: active.scrollTop } : null;
  const open = new Set([...main.querySelectorAll("details[open][id]")].map((one) => one.id));
  const top = window.scrollY;
  const view = VIEWS[page.view];
  const made = view(page);
  made.querySelectorAll("details[id]").forEach((one) => { if (open.has(one.id)) one.open = true; });
  $("made").replaceChildren(made);
  if (page.view !== "release") $("beside").replaceChildren();
  if (held) {
    const again = $(held.id);
    if (again) {
      if (held.dirty) again.value = held.value;
      again.focus({ preventScroll: true });
      try { if (held.start !== null) again.setSelectionRange(held.start, held.end); } catch { /* not a text */ }
      again.scrollTop = held.top;
    }
  }
  window.scrollTo(0, top);
  frame();
}

export function warn(words, ...more) { $("banner").replaceChildren(h("div", { class: "note bad" }, h("p", {}, words), ...more)); }
export function calm() { $("banner").replaceChildren(); }

let number = 0;

export async function refresh() {
  const mine = ++number;
  try {
    const state = await get("state");
    if (mine !== number) return;
    const before = page.state;
    page.state = state;
    if (before && JSON.stringify(before) === JSON.stringify(state)) return;
    show();
    left();
  } catch (error) { trouble(error); }
}

export async function left() {
  if (!page.state?.read?.promise?.ledger) { $("left").hidden = true; return; }
  try { const said = await post("imagine", { epsilon: page.state.read.promise.epsilon }); $("left").hidden = said.left === null; $("left").textContent = `ε ${said.left} left`; } catch { $("left").hidden = true; }
}

export function trouble(error) {
  if (!(error instanceof Refusal)) throw error;
  if (error.status === 0 || error.status === 401)
    warn("The studio was stopped. Your plan is in its file, and results that were kept are in the ledger. Start it again with inbounds studio, and open the address that it prints.");
  else if (error.status === 409) { warn(error.message); refresh(); }
  else warn(error.message);
  say(error.message);
}

/* Change keys of the plan's file. */
export async function edit(...edits) {
  try {
    await post("edit", { edits, base: page.state.read.revision });
    calm();
    await refresh();
    say("saved");
  } catch (error) { trouble(error); await refresh(); }
}

function route() {
  const before = page.view;
  page.view = chosen();
  page.keep = before === page.view ? page.keep : {};
  show();
  if (before && before !== page.view) { $("view").focus({ preventScroll: true }); window.scrollTo(0, 0); }
}

async function start() {
  try { [page.state, page.statistics] = await Promise.all([get("state"), get("statistics")]); } catch (error) { trouble(error); return; }
  route();
  left();
  window.addEventListener("hashchange", route);
  $("plans").addEventListener("change", async (event) => {
    try { if (event.target.value) await post("open", { name: event.target.value }); calm(); } catch (error) { trouble(error); }
    refresh();
  });
  const events = new EventSource("/api/events");
  let lost = false;
  events.onmessage = () => { if (lost) { lost = false; calm(); } refresh(); };
  events.onerror = () => { lost = true; trouble(new Refusal("The studio does not answer.", 0)); };
  document.documentElement.dataset.ready = "yes";
}

start();
