// Learn: the two laws, with everything that can be moved. All figures come from the library's formulas.

import { page } from "/static/app.js";
import { post } from "/static/api.js";
import { draw, sample } from "/static/chart.js";
import { $, field, h, note } from "/static/dom.js";
import { update } from "/static/morph.js";

const set = { epsilon: 0.5, rows: 20, lower: 0, upper: 1, truth: 0.1 };
const MARKS = { bit: "line", truncated: "two", paper: "three" };
const EPSILONS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 8], ROWS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 20000];
const state = { asking: false, again: false };

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
      draw({ series: got.laws.map((one) => ({ points: got.x.map((x, i) => [x, one.density[i]]), mark: MARKS[one.name] })), words: "Densities of the released value; thick bars at the bounds are probabilities of exactly that value", yZero: true, yTop: top, width: 760, height: 260, xTitle: "released value", atoms: got.laws.flatMap((one) => one.atoms.map((height, i) => ({ x: i ? set.upper : set.lower, height, mark: MARKS[one.name] })).filter((atom) => atom.height > 0)) })),
    h("section", { class: "card" }, h("h2", {}, "What it costs"), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Figures of the laws" }, h("table", {}, h("thead", {}, h("tr", {}, ["Law", "Scale", "Bias", "RMSE", "At the lower bound", "At the upper bound", "Real ε"].map((one, i) => h("th", { scope: "col", class: i ? "number" : "" }, one)))),
      h("tbody", {}, got.laws.map((one) => h("tr", {}, h("th", { scope: "row" }, one.title), h("td", { class: "number" }, one.scale), h("td", { class: "number" }, one.bias), h("td", { class: "number" }, one.rmse), ...one.atoms.map((mass) => h("td", { class: "number" }, mass.toFixed(3))), h("td", { class: "number" }, h("span", { class: `chip ${one.keeps ? "reliable" : "nothing"}` }, one.loss)))))))),
    h("div", { class: "two" }, ...[["bias", "Bias over the true value"], ["rmse", "RMSE over the true value"]].map(([key, title]) => h("section", { class: "card" }, h("h2", {}, title), draw({ series: curves(key), words: `${title}, for the three laws`, yZero: true, width: 420, height: 210, xTitle: "true value" })))));
}

const step = (id, label, list, key, help) => field(id, "", h("input", { type: "range", min: 0, max: list.length - 1, step: 1, value: list.indexOf(set[key]), oninput: (event) => { set[key] = list[Number(event.target.value)]; event.target.closest(".field").querySelector("label").textContent = `${label}: ${set[key]}`; event.target.setAttribute("aria-valuetext", String(set[key])); ask(); } }), help);

export default function learn() {
  const made = h("div", {}, h("h1", {}, "Learn"), h("p", { class: "lead" }, "Two ways to keep a noisy mean inside its bounds: clamp it (BIT), or truncate its law. Move the sliders and see what each costs in bias, in error and in privacy."));
  const controls = [step("learn-epsilon", "ε that is asked for", EPSILONS, "epsilon"), step("learn-rows", "Number of rows n", ROWS, "rows")];
  const plain = (id, label, key, low, high, by) => field(id, `${label}: ${set[key]}`, h("input", { type: "range", min: low, max: high, step: by, value: set[key], oninput: (event) => { set[key] = Number(event.target.value); if (set.truth < set.lower) set.truth = set.lower; if (set.truth > set.upper) set.truth = set.upper; event.target.closest(".field").querySelector("label").textContent = `${label}: ${set[key]}`; ask(); } }));
  controls.push(plain("learn-truth", "True value", "truth", 0, 1, 0.01), plain("learn-upper", "Upper bound", "upper", 1, 10, 0.5));
  controls[0].querySelector("label").textContent = `ε that is asked for: ${set.epsilon}`;
  controls[1].querySelector("label").textContent = `Number of rows n: ${set.rows}`;
  made.append(h("section", { class: "card", "aria-label": "What can be moved" }, h("div", { class: "grid" }, controls)), h("div", { id: "laws", "data-own": true }, h("p", {}, "Computing …")), h("p", { class: "help" }, "The third law has the scale of the paper, δ/ε. It loses more than the ε it was made for; the truncated law of a release has the scale that keeps it. The paper's simulations, figure by figure, are made by inbounds study paper."));
  queueMicrotask(ask);
  return made;
}
