// Ledger: what is spent and left, every entry, and what another charge would leave.

import { page, show } from "/static/app.js";
import { get, post } from "/static/api.js";
import { $, field, h, note, type } from "/static/dom.js";

const seen = { key: null, book: null, said: null, imagined: null };

function load(read, job) {
  const key = JSON.stringify([read.revision, job?.state, job?.stage, page.state.charged]);
  if (seen.key === key) return;
  Object.assign(seen, { key, said: null, imagined: null });
  get("ledger").then((book) => { if (seen.key === key) seen.book = book; }).catch((error) => { if (seen.key === key) { seen.book = null; seen.said = error.message; } })
    .finally(() => { if (seen.key === key && page.view === "ledger") show(); });
}

const PROTECTED = { substitute: "what a record says", "add-remove": "whether a record is there" };

async function imagine(epsilon) {
  if (epsilon === "") { seen.imagined = null; show(); return; }
  try { seen.imagined = await post("imagine", { epsilon }); } catch (error) { seen.imagined = { fits: false, said: error.message }; }
  show();
}

export default function ledger(page) {
  const { read, job } = page.state;
  const made = h("div", {}, h("h1", {}, "Ledger"), h("p", { class: "lead" }, "What was spent on each dataset, by whom and for what. Every entry is chained to the one before it, so that a change is noticed."));
  if (!read || read.mistakes.length) { made.append(note(read ? "The plan has mistakes; correct them under Plan." : "No plan is open. Start one under Data.", read ? "bad" : "")); return made; }
  load(read, job);
  if (seen.said) { made.append(note(seen.said, "bad")); return made; }
  const book = seen.book;
  if (!book) { made.append(h("p", {}, "Reading the ledger …")); return made; }
  if (!book.name) { made.append(note("The plan names no ledger. Name one under Plan: without it nothing keeps count.")); return made; }
  for (const words of book.warnings) made.append(note(words, "bad"));
  if (!book.datasets.length) made.append(note(`${book.name} does not exist yet; the first release makes it.`));
  for (const one of book.datasets) {
    const bar = h("div", { class: "bar", role: "img", "aria-label": `${one.spent} of ${one.limit} spent` }), spent = h("span"), free = h("span", { class: "free" });
    spent.style.flexGrow = String(one.part); free.style.flexGrow = String(1 - one.part); bar.append(spent, free);
    made.append(h("section", { class: "card" }, h("h2", {}, one.dataset), h("p", {}, h("span", { class: "big" }, `${/^[0-9]/.test(one.left) ? "ε " : ""}${one.left} left`), ` of ${one.limit}; ${one.spent} spent in ${one.charges} charge${one.charges === 1 ? "" : "s"}. It protects ${PROTECTED[one.neighbours]}.`), bar));
  }
  made.append(h("section", { class: "card", "aria-labelledby": "what-if" }, h("h2", { id: "what-if" }, "What if"), h("div", { class: "grid" }, field("imagine", `${read.promise.symbol} of a further release`, type("", imagine, { inputmode: "decimal", placeholder: read.promise.epsilon }))), seen.imagined ? h("p", { id: "imagined", class: `note ${seen.imagined.fits ? "good" : "bad"}`, role: "status" }, seen.imagined.said) : null));
  if (book.entries.length) made.append(h("section", { class: "card", "aria-labelledby": "chain" }, h("h2", { id: "chain" }, `Entries of ${book.name}`), h("p", { class: "help" }, "Verified from the first to the last when this page was made."), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "chain" }, h("table", {}, h("thead", {}, h("tr", {}, ["", "When", "Who", "Kind", "Dataset", "ε", "Limit", "What", "Hash"].map((one) => h("th", { scope: "col" }, one)))),
    h("tbody", {}, book.entries.map((one) => h("tr", {}, h("td", { class: "number" }, one.sequence), h("td", { class: "when" }, one.when.slice(0, 16).replace("T", " ")), h("td", {}, one.who), h("td", {}, one.kind), h("td", {}, one.dataset), h("td", { class: "number" }, one.epsilon), h("td", { class: "number" }, one.limit), h("td", {}, one.what), h("td", {}, h("code", {}, one.hash.slice(0, 10))))))))));
  return made;
}
