// Release: what it costs, one at a time, cancelled only before the charge; then the report, the proof, the files.

import { calm, page, refresh, trouble, show } from "/static/app.js";
import { get, post } from "/static/api.js";
import { $, h, lacks, note, say } from "/static/dom.js";
import { forecast, summary } from "/static/glance.js";

const FORMS = { xlsx: "Excel", latex: "LaTeX" };
const seen = { key: null, kind: null, offer: null, said: null, shown: null, proofs: {}, last: null };

function load(read, job, results) {
  const key = JSON.stringify([read.revision, job?.state, results.length, page.state.charged]);
  if (seen.key === key) return;
  Object.assign(seen, { key, offer: null, said: null });
  get("offer").then((offer) => { if (seen.key === key) Object.assign(seen, { offer, kind: offer.kind }); }).catch((error) => { if (seen.key === key) seen.said = error.message; })
    .finally(() => { if (seen.key === key && page.view === "release") show(); });
}

async function begin(fresh) {
  $("confirm")?.close();
  try { await post("release", { base: page.state.read.revision, cost: seen.offer.cost, new: fresh }); calm(); seen.shown = null; } catch (error) { trouble(error); }
  await refresh();
}

function dialog(offer, promise) {
  const again = offer.kind === "stored", paid = offer.kind === "paid", anew = offer.kind === "unfinished";
  return h("dialog", { id: "confirm", "aria-labelledby": "confirm-title" },
    h("h2", { id: "confirm-title" }, again ? "Show the stored result?" : paid ? "Finish the release?" : "Release and spend?"),
    h("dl", { class: "facts" }, h("dt", {}, "It costs"), h("dd", { id: "confirm-cost" }, `ε ${offer.cost}`), h("dt", {}, "Left before"), h("dd", {}, offer.left === null ? "there is no ledger" : `ε ${offer.left}`), h("dt", {}, "Left after"), h("dd", { id: "confirm-after" }, offer.after === null ? "there is no ledger" : `ε ${offer.after}`), h("dt", {}, "Dataset"), h("dd", {}, promise.dataset)),
    h("p", {}, again ? "The table is not read, and nothing is spent." : paid ? "It was charged before, and nothing more is spent." : "The charge is made before the data are read. It stands if the table is refused; after an interruption the release can be finished."),
    again ? null : lacks(promise),
    h("p", { class: "row" }, h("button", { class: "main", id: "confirm-go", onclick: () => begin(anew) }, again ? "Show it" : paid ? "Finish it" : `Spend ε ${offer.cost}${anew ? " more" : ""} and release`), h("button", { id: "confirm-no", onclick: () => $("confirm").close() }, "Not now")));
}

function progress(job) {
  const running = job.state === "running";
  const kind = job.state === "failed" ? "bad" : job.state === "done" ? "good" : "";
  if (!running) return h("div", { id: "outcome" }, note(`${job.plan}: ${job.said}`, kind));
  const cancel = async () => { try { await post("cancel"); say("cancelling"); } catch (error) { trouble(error); } refresh(); };
  return h("section", { class: "card", "aria-label": "Release under way", id: "under-way" }, h("h2", {}, `Releasing ${job.plan}`),
    h("progress", { max: job.stages.length, value: Math.max(job.stage, 0), "aria-label": "Stages done" }),
    h("ol", { class: "stages" }, job.stages.map((one, i) => h("li", { class: i < job.stage ? "done" : i === job.stage ? "now" : "" }, one))),
    h("p", { class: "row" }, h("button", { id: "cancel", onclick: cancel, disabled: job.charged }, job.charged ? "Charged: it will be finished" : "Cancel; nothing is spent yet")));
}

function result(one, first) {
  const proof = seen.proofs[one.id];
  const verify = async () => {
    try { const got = await post("verify", { id: one.id, ledger: Boolean(page.state.read?.promise?.ledger) && one.when !== null }); seen.proofs[one.id] = { said: got.said, kind: "good" }; } catch (error) { seen.proofs[one.id] = { said: error.message, kind: "bad" }; }
    say(seen.proofs[one.id].said); show();
  };
  const base = `/results/${encodeURIComponent(one.id)}`;
  return h("li", { class: "card", "data-key": one.id }, h("div", { class: "row" }, h("h3", {}, one.id), first ? h("span", { class: "chip" }, "the newest") : null, one.when ? h("span", { class: "help" }, `${one.dataset}, ${one.when.slice(0, 16).replace("T", " ")}`) : h("span", { class: "help" }, one.dataset ?? "")),
    h("p", { class: "row" }, h("button", { class: first ? "main" : "", "data-show": one.id, onclick: () => { seen.shown = one.id; show(); $("report")?.scrollIntoView(); } }, "Show the report"), h("button", { "data-verify": one.id, onclick: verify }, "Verify"), h("a", { href: `${base}.zip`, download: true }, "Download everything"), page.state.forms.map((form) => h("a", { href: `${base}/as/${form}`, download: true }, FORMS[form])), one.files.map((file) => h("a", { href: `${base}/${encodeURIComponent(file)}`, download: true }, file))),
    one.id === seen.shown || first ? summary(one) : null,
    proof ? h("div", { "data-proof": one.id }, note(proof.said, proof.kind)) : null);
}

/* What a release would cost, with the button that asks once more; what was released before takes one line. */
function price(offer, promise) {
  const stored = offer.kind === "stored";
  return [
    stored ? null : lacks(promise),
    offer.kind !== "new" ? h("p", { id: "offer-said", class: `note ${offer.fits ? "" : "bad"}` }, offer.said) : h("p", { class: "row" }, h("span", { class: "big" }, `ε ${offer.cost}`), h("span", { id: "offer-said" }, offer.said)),
    h("p", { class: "row" }, h("button", { class: stored ? "" : "main", id: "go", disabled: !offer.fits, onclick: () => $("confirm").showModal() }, stored ? "Show the stored result" : "Release …")), dialog(offer, promise)];
}

export default function release(page) {
  const { read, job, results } = page.state;
  const made = h("div", {}, h("h1", {}, "Release"), h("p", { class: "lead" }, "Charge the ledger, read the data once, add the noise, keep the result. The same plan again shows what was kept and costs nothing."));
  if (job && job.state === "done" && seen.last !== job.result) { seen.last = job.result; seen.shown = job.result; }
  if (job && job.state === "running") seen.last = null;
  if (job) made.append(progress(job));
  let offered = null;
  if (!read || read.mistakes.length) made.append(note(read ? "The plan has mistakes; correct them under Plan." : "No plan is open. Start one under Data.", read ? "bad" : ""));
  else if (job?.state !== "running") {
    load(read, job, results);
    const offer = seen.offer;
    offered = h("section", { class: "card", "aria-labelledby": "offer" }, h("h2", { id: "offer" }, offer?.kind === "stored" ? "The same again" : "What it would cost"),
      seen.said ? note(seen.said, "bad") : !offer ? h("p", {}, "Asking the ledger …") : price(offer, read.promise));
    // Before a release its price comes first, after it the result.
    if (seen.kind !== "stored") made.append(offered, forecast(page.state));
  }
  if (results.length) made.append(h("section", { "aria-labelledby": "results" }, h("h2", { id: "results" }, "Results"), h("ol", { class: "plain" }, results.map((one, i) => result(one, i === 0)))));
  if (offered && seen.kind === "stored") made.append(offered);
  const shown = results.find((one) => one.id === seen.shown);
  report(shown?.files.includes("report.html") ? shown : null);
  return made;
}

/* The report stays where it is when the rest is made again: a frame that moves is loaded again. */
function report(one) {
  const place = $("beside"), key = one ? `${one.id} ${one.when}` : "";
  if (place.dataset.shows === key && place.firstChild) return;
  place.dataset.shows = key;
  place.replaceChildren(...(one ? [h("section", { id: "report", "aria-labelledby": "report-title" }, h("h2", { id: "report-title" }, `Report of ${one.id}`),
    h("iframe", { title: `Report of ${one.id}`, sandbox: "", src: `/results/${encodeURIComponent(one.id)}/report.html?show=1` }))] : []));
}
