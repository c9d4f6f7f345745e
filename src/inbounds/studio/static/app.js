// The frame of the page: what is open, which view is shown, and what every browser is told.

import { get, post, Refusal } from "/static/api.js";
import { $, h, say } from "/static/dom.js";
import { undo, update } from "/static/morph.js";
import data from "/static/views/data.js";
import plan, { write } from "/static/views/plan.js";
import preview from "/static/views/preview.js";
import release from "/static/views/release.js";
import ledger from "/static/views/ledger.js";
import learn from "/static/views/learn.js";

const VIEWS = { data, plan, preview, release, ledger, learn };
const TITLES = { data: "Data", plan: "Plan", preview: "Preview", release: "Release", ledger: "Ledger", learn: "Learn" };

export const page = { state: null, statistics: [], keys: null, view: null, keep: {} };

const chosen = () => { const name = location.hash.slice(1); return name in VIEWS ? name : page.state?.plan ? "plan" : "data"; };

function frame() {
  const { files, plan: name, read, left } = page.state;
  const options = files.plans.map((one) => h("option", { value: one, selected: one === name }, one));
  if (!name) options.unshift(h("option", { value: "", selected: true }, "none yet"));
  update($("plans"), ...options);
  $("plans").value = name ?? "";
  update($("steps"), ...Object.entries(TITLES).map(([key, title]) =>
    h("li", {}, h("a", { href: `#${key}`, "aria-current": key === page.view ? "page" : null }, title,
      key === "plan" && read?.mistakes.length ? ` (${read.mistakes.length})` : ""))));
  $("saved").textContent = !read ? "" : read.mistakes.length ? `saved, ${read.mistakes.length} mistake${read.mistakes.length > 1 ? "s" : ""}` : "saved";
  $("left").hidden = left === null;
  $("left").textContent = left === null ? "" : `ε ${left} left`;
  document.title = `${TITLES[page.view]} – ${name ?? page.state.folder} – inbounds studio`;
}

/* Make the view as it should be now. What somebody has in hand stays as it is: see morph.js. */
export function show() {
  const made = VIEWS[page.view](page), held = document.activeElement;
  made.dataset.key = page.view;
  const within = $("made").contains(held);
  update($("made"), made);
  // What had the focus may be gone, or have lost it on its way to another place. Whoever works by keyboard goes on from
  // there, and not from the end of the page.
  if (within && document.activeElement !== held) (held.isConnected ? held : $("view")).focus({ preventScroll: true });
  if (page.view !== "release") $("beside").replaceChildren();
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
  } catch (error) { trouble(error); }
}

export function trouble(error) {
  if (!(error instanceof Refusal)) throw error;
  if (error.status === 0 || error.status === 401)
    warn("The studio was stopped. Your plan is in its file, and results that were kept are in the ledger. Start it again with inbounds studio, and open the address that it prints.");
  else if (error.status === 409) { warn(error.message); refresh(); }
  else warn(error.message);
  say(error.message);
}

let turn = Promise.resolve();

/* Changes of the file are made one after the other, each of them to what the one before it left. */
export function inTurn(action) {
  turn = turn.then(action, action);
  return turn;
}

/* Take the plan as the server has just read it; a state that was asked for before that is no longer wanted. */
export function take(read) {
  number += 1;
  page.state = { ...page.state, read };
  show();
}

/* Change keys of the plan's file. A change may be a function, which is asked when its turn has come. */
export const edit = (...edits) => inTurn(async () => {
  try {
    await write();
    const wanted = edits.flatMap((one) => (typeof one === "function" ? one(page.state.read.content) : one));
    take(await post("edit", { edits: wanted, base: page.state.read.revision }));
    calm();
    say("saved");
  } catch (error) { trouble(error); undo($("made")); }
  await refresh();
});

/* Leaving a field saves it. Whoever goes to another view, or closes the page, leaves it too. */
const leave = () => { if ($("made").contains(document.activeElement)) document.activeElement.blur(); };

function route() {
  const before = page.view, next = chosen();
  if (before && before !== next) leave();
  page.view = next;
  page.keep = before === page.view ? page.keep : {};
  show();
  if (before && before !== page.view) { $("view").focus({ preventScroll: true }); window.scrollTo(0, 0); }
}

async function start() {
  try { [page.state, page.statistics, page.keys] = await Promise.all([get("state"), get("statistics"), get("keys")]); } catch (error) { trouble(error); return; }
  route();
  window.addEventListener("hashchange", route);
  window.addEventListener("pagehide", () => { leave(); write(); });
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
