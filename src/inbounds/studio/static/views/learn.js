// Learn: the two laws, with everything that can be moved, and the paper's figures. All numbers come from the library.

import { trouble } from "/static/app.js";
import { get, post } from "/static/api.js";
import { draw, sample } from "/static/chart.js";
import { $, choose, field, h, note, say } from "/static/dom.js";
import { update } from "/static/morph.js";

const set = { epsilon: 0.5, rows: 20, lower: 0, upper: 1, truth: 0.1 };
const MARKS = { bit: "line", truncated: "two", paper: "three" }, LINES = ["line", "three", "two", "four"];
const EPSILONS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 8], ROWS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 20000];
const state = { asking: false, again: false };
const paper = { list: null, name: "1", case: null, quantity: null, measure: "bias", got: null, said: null };

/* As many pixels as a chart has on the page, so that its text is as large as that of the page on a telephone, too. */
const room = (place, most) => Math.max(300, Math.min(most, place.clientWidth - 42));

async function ask() {
  if (state.asking) { state.again = true; return; }
  state.asking = true;
  try { redraw(await post("laws", set)); } catch (error) { $("laws")?.replaceChildren(note(error.message, "bad")); }
  state.asking = false;
  if (state.again) { state.again = false; ask(); }
}

function redraw(got) {
  const place = $("laws");
  if (!place) return;
  const top = Math.max(...got.laws.flatMap((one) => one.density));
  const curves = (key) => got.over.laws.map((one) => ({ points: got.over.x.map((x, i) => [x, one[key][i]]), mark: MARKS[one.name] }));
  update(place,
    h("section", { class: "card" }, h("h2", {}, "The law of the released mean"), h("ul", { class: "key" }, got.laws.map((one) => h("li", {}, sample(MARKS[one.name]), one.title))),
      draw({ series: got.laws.map((one) => ({ points: got.x.map((x, i) => [x, one.density[i]]), mark: MARKS[one.name] })), words: "Densities of the released value; thick bars at the bounds are probabilities of exactly that value", yZero: true, yTop: top, width: room(place, 760), height: 260, xTitle: "released value", atoms: got.laws.flatMap((one) => one.atoms.map((height, i) => ({ x: i ? set.upper : set.lower, height, mark: MARKS[one.name] })).filter((atom) => atom.height > 0)) }),
      h("p", { class: "help" }, "A thick bar at a bound is the probability of exactly that value: as high as the chart would be certain.")),
    h("section", { class: "card" }, h("h2", {}, "What it costs"), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Figures of the laws" }, h("table", {}, h("thead", {}, h("tr", {}, ["Law", "Scale", "Bias", "RMSE", "At the lower bound", "At the upper bound", "Real ε"].map((one, i) => h("th", { scope: "col", class: i ? "number" : "" }, one)))),
      h("tbody", {}, got.laws.map((one) => h("tr", {}, h("th", { scope: "row" }, one.title), h("td", { class: "number" }, one.scale), h("td", { class: "number" }, one.bias), h("td", { class: "number" }, one.rmse), ...one.atoms.map((mass) => h("td", { class: "number" }, mass.toFixed(3))), h("td", { class: "number" }, h("span", { class: `chip ${one.keeps ? "reliable" : "nothing"}` }, one.loss)))))))),
    h("div", { class: "two even" }, ...[["bias", "Bias over the true value"], ["rmse", "RMSE over the true value"]].map(([key, title]) => h("section", { class: "card" }, h("h2", {}, title), draw({ series: curves(key), words: `${title}, for the three laws`, yZero: true, width: room(place, 420), height: 210, xTitle: "true value" })))));
}

/* A slider with its value in its label. The label changes at once, the charts when the answer is there. */
function slide(id, label, range, value, put) {
  const words = (shown) => `${label}: ${shown}`;
  return field(id, words(value()), h("input", { type: "range", ...range(), "aria-valuetext": String(value()), oninput: (event) => {
    put(Number(event.target.value));
    for (const one of sliders()) { const there = $(one.id); if (there && there !== event.target) { Object.assign(there, one.range); there.value = one.range.value; } if (there) { there.closest(".field").querySelector("label").textContent = one.words; there.setAttribute("aria-valuetext", one.text); } }
    ask();
  } }));
}

const CONTROLS = [
  ["learn-epsilon", "ε that is asked for", () => ({ min: 0, max: EPSILONS.length - 1, step: 1, value: EPSILONS.indexOf(set.epsilon) }), () => set.epsilon, (value) => { set.epsilon = EPSILONS[value]; }],
  ["learn-rows", "Number of rows n", () => ({ min: 0, max: ROWS.length - 1, step: 1, value: ROWS.indexOf(set.rows) }), () => set.rows, (value) => { set.rows = ROWS[value]; }],
  ["learn-lower", "Lower bound", () => ({ min: -10, max: 0, step: 0.5, value: set.lower }), () => set.lower, (value) => { set.lower = value; set.truth = Math.max(set.truth, set.lower); }],
  ["learn-upper", "Upper bound", () => ({ min: 1, max: 10, step: 0.5, value: set.upper }), () => set.upper, (value) => { set.upper = value; set.truth = Math.min(set.truth, set.upper); }],
  ["learn-truth", "True value", () => ({ min: set.lower, max: set.upper, step: 0.01, value: set.truth }), () => set.truth, (value) => { set.truth = Number(value.toFixed(2)); }],
];
const sliders = () => CONTROLS.map(([id, label, range, value]) => ({ id, range: range(), words: `${label}: ${value()}`, text: String(value()) }));

async function simulate() {
  const wanted = [paper.name, paper.case].join("/");
  try {
    paper.list ??= await get("figures");
    const cases = paper.list.find((one) => one.name === paper.name).cases;
    if (!cases.includes(paper.case)) paper.case = cases.at(-1);
    const now = [paper.name, paper.case].join("/"), got = await post("figure", { name: paper.name, case: paper.case });
    if (now === [paper.name, paper.case].join("/")) { paper.got = got; say(`figure ${wanted} is drawn`); figures(); }
  } catch (error) { trouble(error); }
}

function figures() {
  const place = $("paper"), { got, list } = paper;
  if (!place || !list || !got) return;
  const names = Object.keys(got.quantities), measures = Object.keys(got.measures);
  if (!names.includes(paper.quantity)) paper.quantity = names[0];
  if (!measures.includes(paper.measure)) paper.measure = measures[0];
  const again = (key) => (value) => { paper[key] = value; simulate(); }, redo = (key) => (value) => { paper[key] = value; figures(); };
  const series = got.lines.map((one, i) => ({ title: one.title, points: one.points[paper.quantity][paper.measure].map(([n, value]) => [n, value]), mark: LINES[i] })).filter((one) => one.points.length);
  const title = `${got.measures[paper.measure]} of ${paper.quantity}, whose true value is ${Number(got.quantities[paper.quantity].toPrecision(4))}`;
  const chosen = field("paper-figure", "Figure", choose(list.map((one) => [one.name, one.title]), paper.name, again("name")));
  chosen.classList.add("two-wide");
  update(place, h("div", { class: "grid tight" }, chosen,
    field("paper-case", "Case", choose(list.find((one) => one.name === paper.name).cases, paper.case, again("case"))),
    field("paper-quantity", "Quantity", choose(names, paper.quantity, redo("quantity"))),
    field("paper-measure", "Measure", choose(measures.map((one) => [one, got.measures[one]]), paper.measure, redo("measure")))),
  h("h3", { id: "paper-title", class: "apart" }, title), h("ul", { class: "key" }, series.map((one) => h("li", {}, sample(one.mark), one.title))),
  draw({ series, words: `${title}, over the number of records, for ${series.map((one) => one.title).join("; ")}`, width: room(place, 760), height: 260, yZero: paper.measure !== "coverage", xTitle: "number of records n" }),
  h("p", { class: "help" }, `Simulated now: ${got.repetitions.toLocaleString("en")} repetitions of every point, with the same random numbers each time; the paper has 500. All figures with their tables: inbounds study paper.`));
}

export default function learn() {
  const made = h("div", {}, h("h1", {}, "Learn"), h("p", { class: "lead" }, "Two ways to keep a noisy mean inside its bounds: clamp it (BIT), or truncate its law. Move the sliders and see what each costs in bias, in error and in privacy."));
  made.append(h("section", { class: "card", "aria-label": "What can be moved" }, h("div", { class: "grid tight" }, CONTROLS.map((one) => slide(...one)))), h("div", { id: "laws", "data-own": true }, h("p", {}, "Computing …")), h("p", { class: "help below" }, "The third law has the scale of the paper, δ/ε. It loses more than the ε it was made for; the truncated law of a release has the scale that keeps it."),
    h("section", { class: "card", "aria-labelledby": "paper-head" }, h("h2", { id: "paper-head" }, "The paper's figures"), h("div", { id: "paper", "data-own": true }, h("p", {}, "Simulating …"))));
  queueMicrotask(() => { ask(); if (paper.got) figures(); else simulate(); });
  return made;
}
