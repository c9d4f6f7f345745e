// Preview: how far off each release would be, at any budget. Nothing is read and nothing is spent.

import { edit, page, show, trouble } from "/static/app.js";
import { post } from "/static/api.js";
import { draw, sample } from "/static/chart.js";
import { $, h, note, say, worth } from "/static/dom.js";
import { doubts, tally } from "/static/glance.js";
import { update } from "/static/morph.js";

const seen = { revision: null, epsilon: null, now: null, curves: [], grid: [], ledger: null, said: null, asking: false, next: null };

async function ask(epsilon, curves) {
  if (seen.asking) { seen.next = epsilon; return; }
  seen.asking = true;
  const revision = seen.revision;
  try {
    const got = await post("preview", { epsilon, curves });
    if (revision === seen.revision) { Object.assign(seen, { now: got.now, ledger: got.ledger, grid: got.grid, rule: got.rule, said: null }); if (got.curves) seen.curves = got.curves; redraw(); }
  } catch (error) { if (revision === seen.revision) { seen.said = error.message; if (error.status !== 400) trouble(error); redraw(); } }
  seen.asking = false;
  if (seen.next !== null) { const next = seen.next; seen.next = null; ask(next, false); }
  else if (page.view === "preview" && !seen.said && seen.curves.length < seen.grid.length) { clearTimeout(seen.timer); seen.timer = setTimeout(() => { if (page.view === "preview") ask(seen.epsilon, true); }, 400); }
}

function move(epsilon) { seen.epsilon = epsilon; performance.mark("epsilon"); ask(epsilon, false); }

async function aim(name, error) {
  try { const { epsilon } = await post("aim", { name, error }); say(`epsilon ${epsilon} keeps ${name} within this error for 9 of 10 plausible columns`); move(epsilon); } catch (refusal) { say(refusal.message); seen.ledger = { ...seen.ledger, said: refusal.message, fits: false }; redraw(); }
}

function redraw() {
  const place = $("prospects");
  if (!place || page.view !== "preview") return;
  if (seen.said || !seen.now) { update(place, seen.said ? note(seen.said, "bad") : h("p", {}, "Looking ahead …")); return; }
  const { items, epsilon } = seen.now;
  $("epsilon-now").textContent = epsilon;
  const dial = $("epsilon"), where = seen.grid.indexOf(epsilon);
  dial.max = seen.grid.length - 1;
  if (where >= 0 && document.activeElement !== dial) dial.value = where;
  dial.setAttribute("aria-valuetext", `epsilon ${epsilon}`);
  $("cost").className = `note ${seen.ledger.fits ? "" : "bad"}`;
  $("cost").textContent = seen.ledger.said;
  $("rule").textContent = seen.rule;
  $("key-alone").hidden = !items.some((one) => one.alone);
  const own = page.state.read.promise.epsilon;
  $("take").disabled = epsilon === own;
  $("take").textContent = epsilon === own ? "This is the plan's ε" : `Put ε = ${epsilon} into the plan`;
  update($("counts"), ...tally(items), h("span", {}, doubts(items)));
  update(place, ...items.map((item, i) => {
    const curve = seen.curves.map((one) => [one.at, one.items[i]?.half_width ?? 0]);
    const alone = item.alone ? seen.curves.map((one) => [one.at, one.items[i]?.alone?.half_width ?? one.items[i]?.half_width ?? 0]) : null;
    const series = [{ points: curve.length ? curve : [[seen.now.at, item.half_width]], mark: "line" }];
    if (alone) series.push({ points: alone, mark: "three" });
    const words = `${item.name}: 95% of releases are off by at most ${item.said} ${item.unit} at epsilon ${epsilon}`;
    return h("article", { class: "item", "data-key": item.name }, h("h2", {}, item.name), h("p", { class: "help" }, item.title),
      h("p", { class: "row" }, h("span", { class: "figure" }, `± ${item.said}`), item.unit || item.span ? h("span", { class: "help" }, [item.unit, item.span ? "typically" : ""].filter(Boolean).join(", ")) : null, worth(item.worth)),
      draw({ series, words, xLog: true, yLog: true, dot: [seen.now.at, item.half_width], aim: { y: item.half_width, drop: (y) => aim(item.name, y) }, xTitle: "ε of the plan", xEnds: [seen.grid[0], seen.grid.at(-1)].map(Number) }),
      h("p", { class: "help" }, `gets ε ${item.share}`, item.alone ? `; drawn alone ± ${item.alone.said}` : ""),
      item.span ? h("details", { class: "assumed", "data-key": `assumed ${item.name}` }, h("summary", {}, `± ${item.span}, by the data`), h("p", { class: "help" }, `Over ${item.assumed}. What you know of it can be stated: plausible, under Plan.`)) : null,
      item.warning ? h("p", { class: "help" }, item.warning) : null);
  }));
  requestAnimationFrame(() => performance.mark("redrawn"));
}

export default function preview(page) {
  const { read } = page.state;
  const made = h("div", {}, h("h1", {}, "Preview"), h("p", { class: "lead" }, "How far off each number will be: 95% of releases stay within ±. Move ε, or drag the dashed line of a chart to the error that you want. No data are read and nothing is spent."));
  if (!read || read.mistakes.length) { made.append(note(read ? "The plan has mistakes; correct them under Plan." : "No plan is open. Start one under Data.", read ? "bad" : "")); return made; }
  if (seen.revision !== read.revision) Object.assign(seen, { revision: read.revision, epsilon: read.promise.epsilon, now: null, curves: [], grid: [], ledger: null, said: null });
  const dial = h("input", { id: "epsilon", type: "range", min: 0, max: Math.max(seen.grid.length - 1, 1), step: 1, "aria-label": "ε of the plan", oninput: (event) => { if (seen.grid.length) move(seen.grid[Number(event.target.value)]); } });
  dial.value = String(Math.max(seen.grid.indexOf(seen.epsilon), 0));
  made.append(h("section", { class: "card", "aria-label": "Budget" }, h("div", { class: "dial" }, h("span", { class: "row" }, h("span", { class: "name" }, "ε"), h("output", { id: "epsilon-now", for: "epsilon" }, seen.epsilon)), dial,
    h("button", { id: "take", onclick: () => edit({ path: ["budget", "epsilon"], toml: seen.epsilon }) }, "Put it into the plan")),
  h("p", { id: "cost", class: "note", role: "status" }, seen.ledger?.said ?? "…"), h("div", { id: "counts", class: "row", "data-own": true }),
  h("ul", { class: "key" }, h("li", {}, sample("line"), "as the plan draws it"), h("li", { id: "key-alone", hidden: !seen.now?.items.some((one) => one.alone) }, sample("three"), "each drawn alone"), h("li", {}, sample("aim"), "the error now: drag it")),
  h("details", { id: "rules", class: "plain" }, h("summary", {}, "How this is judged"), h("p", { id: "rule", class: "help" }, seen.rule ?? ""), h("p", { class: "help" }, "Here it is the error of the noise alone. Intervals in a report are wider where they also count that the table is a sample."))));
  made.append(h("section", { id: "prospects", class: "charts", "data-own": true, "aria-label": "Releases" }, h("p", {}, "Looking ahead …")));
  queueMicrotask(() => { redraw(); if (!seen.now || seen.curves.length < seen.grid.length) ask(seen.epsilon, true); });
  return made;
}
