// Plan: the releases as forms, and the text of the plan's file beside them. Both change the same file.

import { calm, edit, inTurn, page, refresh, take, trouble, warn } from "/static/app.js";
import { post } from "/static/api.js";
import { $, choose, field, h, note, slug, type } from "/static/dom.js";
import { forecast } from "/static/glance.js";
import { ask, fold } from "/static/keys.js";

const typing = { text: null, base: null, timer: 0 };

export async function write() {
  const { text, base } = typing;
  clearTimeout(typing.timer);
  if (text === null) return;
  try {
    const read = await post("save", { text, base });
    if (typing.text === text) typing.text = null; else { typing.base = read.revision; later(); }
    calm();
    take(read);
  } catch (error) {
    if (error.status === 409) {
      const mine = async () => { await refresh(); typing.base = page.state.read.revision; calm(); await save(); };
      const theirs = async () => { typing.text = null; calm(); await refresh(); const area = $("toml"); if (area) area.value = area.defaultValue; };
      warn("The plan's file was changed by somebody else. What you typed is not saved yet.",
        h("p", { class: "row" }, h("button", { onclick: theirs }, "Take the file's text"), h("button", { onclick: mine }, "Keep what I typed")));
    } else trouble(error);
  }
}

const save = () => inTurn(write);

function later() { clearTimeout(typing.timer); typing.timer = setTimeout(save, 350); }

function number(area, mistakes) {
  const wrong = new Set(mistakes.map((one) => one.line));
  return area.value.split("\n").flatMap((_, i) => [wrong.has(i + 1) ? h("span", { class: "wrong" }, `▸ ${i + 1}`) : String(i + 1), "\n"]);
}

function editor(read) {
  const area = h("textarea", { id: "toml", spellcheck: "false", autocapitalize: "off", "aria-label": "Text of the plan, TOML", wrap: "off",
    onscroll: (event) => { $("gutter").scrollTop = event.target.scrollTop; },
    oninput: (event) => {
      if (typing.text === null) typing.base = page.state.read.revision;
      typing.text = event.target.value;
      $("saved").textContent = "not saved yet";
      $("gutter").replaceChildren(...number(event.target, page.state.read.mistakes));
      later();
    } });
  area.defaultValue = read.text;
  area.value = typing.text ?? read.text;
  // The text on the page may be ahead of the file.
  const gutter = h("div", { class: "gutter", id: "gutter", "aria-hidden": "true" }, number(area, read.mistakes));
  const go = (line) => () => {
    const there = $("toml"), lines = there.value.split("\n");
    const before = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    there.focus(); there.setSelectionRange(before, before + (lines[line - 1] ?? "").length); there.scrollTop = (line - 4) * 19.5;
  };
  return h("section", { class: "card", "aria-labelledby": "text" }, h("h2", { id: "text" }, `The file ${page.state.plan}`),
    h("div", { class: "editor" }, gutter, area),
    read.mistakes.length ? h("ul", { class: "mistakes", id: "mistakes" }, read.mistakes.map((one) => h("li", {}, one.line ? h("button", { onclick: go(one.line), "aria-label": `Go to line ${one.line}` }, `line ${one.line}`) : null, one.text)))
      : h("p", { class: "help", id: "fine" }, "No mistakes. It is saved as you type, and is the same file that the command line reads."));
}

// Keys of every release that have a field of their own on this page.
const OWN = ["name", "statistic", "columns", "by", "where", "share", "bounding"];

/* Whether a statistic can take a column by its rule: one of numbers needs bounds, one of levels has levels or edges. */
function fits(what, name, content) {
  const rule = content.columns?.[name];
  if (what === "number" || what === "numbers") return Boolean(rule?.bounds);
  if (what === "cells" || what === "table" || what.startsWith("level")) return Boolean(rule?.levels || rule?.edges || (name in (content.derive ?? {}) && !rule?.bounds));
  return true;
}

const named = (content) => [...new Set([...Object.keys(content.columns ?? {}), ...Object.keys(content.derive ?? {})])];

/* Another statistic, with those of the columns that it can take. */
const turn = (index, statistic) => (content) => {
  const what = page.statistics.find((one) => one.name === statistic)?.columns ?? "", given = content.release[index].columns ?? [];
  const kept = given.filter((name) => fits(what, name, content)), first = named(content).find((name) => fits(what, name, content));
  const wanted = kept.length || what === "free" ? kept : what === "level or none" || !first ? [] : [first];
  return [{ path: ["release", index, "statistic"], value: statistic }, ...(wanted.join("\n") === given.join("\n") ? [] : [{ path: ["release", index, "columns"], value: wanted.length ? wanted : null }])];
};

function columns(id, what, item, index, content) {
  const chosen = item.columns ?? [], names = named(content).filter((name) => chosen.includes(name) || fits(what, name, content));
  // What is released here is the rule itself, so that the column has none yet.
  if (what === "free") return field(`${id}-column`, "Column", type(chosen[0] ?? "", (value) => edit({ path: ["release", index, "columns"], value: value ? [value] : null })), "Any column of the table that holds numbers.");
  const one = what === "number" || what === "cells" || what.startsWith("level");
  if (one) return field(`${id}-column`, "Column", choose([["", "none"], ...new Set([...names, ...chosen])], chosen[0] ?? "", (value) => edit({ path: ["release", index, "columns"], value: value ? [value] : null })));
  return h("fieldset", { class: "field", "data-key": `${id}-columns` }, h("legend", {}, "Columns"), h("div", { class: "checks" }, names.map((name) => h("label", {}, h("input", { type: "checkbox", id: `${id}-has-${slug(name)}`, checked: chosen.includes(name), onchange: ({ target }) => edit((content) => { const now = content.release[index].columns ?? []; return { path: ["release", index, "columns"], value: target.checked ? [...now, name] : now.filter((other) => other !== name) }; }) }), name))));
}

/* Whether a mistake is one of a release; that of a column names the release that needs it. */
const isAbout = (text, name, index) => [`release.${name}`, `release.${JSON.stringify(name)}`, `release ${index + 1}`].some((place) => (text.startsWith(place) && /^(?:[:.[]| needs)/.test(text.slice(place.length))) || text.includes(`: ${place} needs`));

function card(item, index, content, read) {
  const made = page.statistics.find((one) => one.name === item.statistic);
  const id = `item-${index}`, at = (key) => ["release", index, key];
  const text = (key) => (value) => edit({ path: at(key), value: value || null });
  const rules = content.columns ?? {};
  const groups = [...new Set([...Object.keys(rules).filter((name) => rules[name]?.levels), ...Object.keys(content.derive ?? {}).filter((name) => !rules[name]?.bounds && !rules[name]?.edges)])];
  const by = Array.isArray(item.by) ? item.by : item.by ? [item.by] : [];
  const wrong = read.mistakes.filter((one) => isAbout(one.text, item.name, index));
  const share = Number(item.share ?? 1);
  return h("details", { id, open: !item.statistic || wrong.length > 0 },
    h("summary", {}, h("b", {}, item.name || `release ${index + 1}`), h("span", { class: "rule" }, [item.statistic, (item.columns ?? []).join(", "), by.length ? `by ${by.join(", ")}` : "", item.where ? `where ${item.where}` : ""].filter(Boolean).join(" · ")), wrong.length ? h("span", { class: "chip nothing" }, "mistake") : read.epsilons?.[item.name] ? h("span", { class: "chip" }, `${read.promise?.symbol ?? "ε"} ${read.epsilons[item.name]}`) : null),
    h("div", { class: "inside" },
      wrong.length ? h("ul", { class: "mistakes" }, wrong.map((one) => h("li", {}, one.text))) : null,
      h("div", { class: "grid" },
        field(`${id}-name`, "Name", type(item.name, text("name"))),
        field(`${id}-statistic`, "Statistic", choose(page.statistics.map((one) => [one.name, one.name.replaceAll("_", " ")]), item.statistic, (value) => edit(turn(index, value))), made?.help.replace(/; see `.*$/, ".")),
        made ? columns(id, made.columns, item, index, content) : null,
        made?.by ? h("fieldset", { class: "field", "data-key": `${id}-by` }, h("legend", {}, "For each group of"), h("div", { class: "checks" }, groups.length ? groups.map((name) => h("label", {}, h("input", { type: "checkbox", id: `${id}-by-${slug(name)}`, checked: by.includes(name), onchange: ({ target }) => edit((content) => { const now = [content.release[index].by ?? []].flat(), next = target.checked ? [...now, name] : now.filter((other) => other !== name); return { path: at("by"), value: next.length ? next : null }; }) }), name)) : h("span", { class: "help" }, "columns with levels can be groups"))) : null,
        field(`${id}-where`, "Only records where", type(item.where, text("where"), { placeholder: "age >= 18 and region <> 'north'" })),
        field(`${id}-share`, `Share of the budget: ${share}`, h("input", { type: "range", min: 0.25, max: Math.max(5, share), step: 0.25, value: share, onchange: (event) => edit({ path: at("share"), value: Number(event.target.value) }) })),
        field(`${id}-bounding`, "Kept in its bounds by", choose([["bit", "clamping (BIT)"], ["truncated", "truncation"]], item.bounding ?? "bit", (value) => edit({ path: at("bounding"), value }))),
        (made?.keys ?? []).map((key) => ask(id, ["release", index], key, item[key.name]))),
      fold(`${id}-more`, "Interval, persons, preview", ["release", index], page.keys.release.filter((key) => !OWN.includes(key.name)), item),
      h("p", { class: "row" }, h("button", { id: `${id}-remove`, onclick: () => edit({ path: ["release", index], value: null }) }, `Remove ${item.name ?? ""}`))));
}

const held = { at: null, sum: 0, left: 0, width: 0, next: null };

/* The shares as a bar. Between two parts the bar can be dragged: what one gets, the other gives. */
function shares(items) {
  const share = (item) => Number(item.share ?? 1);
  const bar = h("div", { class: "bar shares", id: "shares", role: "img", "aria-label": `How the budget is shared: ${items.map((item) => `${item.name} ${share(item)}`).join(", ")}`,
    onpointerdown: (event) => {
      const parts = [...event.currentTarget.children].map((one) => one.getBoundingClientRect());
      const ends = parts.slice(0, -1).map((one) => Math.abs(one.right - event.clientX)), at = ends.indexOf(Math.min(...ends));
      if (at < 0 || ends[at] > 12) return;
      Object.assign(held, { at, sum: share(items[at]) + share(items[at + 1]), left: parts[at].left, width: parts[at + 1].right - parts[at].left, next: null });
      event.currentTarget.setPointerCapture(event.pointerId);
    },
    onpointermove: (event) => {
      if (held.at === null) return;
      const wanted = Math.round((held.sum * (event.clientX - held.left)) / held.width / 0.05) * 0.05;
      const first = Number(Math.min(Math.max(wanted, 0.05), held.sum - 0.05).toFixed(4));
      held.next = [first, Number((held.sum - first).toFixed(4))];
      held.next.forEach((one, i) => { const part = event.currentTarget.children[held.at + i]; part.style.flexGrow = String(one); part.title = `${items[held.at + i].name}: ${one}`; });
    },
    onpointerup: () => {
      const { at, next } = held;
      held.at = null;
      if (next) edit(...next.map((value, i) => ({ path: ["release", at + i, "share"], value })));
    } });
  for (const item of items) { const part = h("span", { title: `${item.name}: ${share(item)}` }); part.style.flexGrow = String(share(item)); bar.append(part); }
  return bar;
}

function add() {
  let id = null;
  edit((content) => {
    const [first, other] = [Object.entries(content.columns ?? {}).find(([, rule]) => rule?.bounds)?.[0], Object.keys(content.columns ?? {})[0]];
    const items = content.release ?? [];
    const name = (word) => { let made = word, k = 2; while (items.some((one) => one.name === made)) made = `${word} ${k++}`; return made; };
    id = `item-${items.length}`;
    return { path: ["release", items.length], value: first ? { name: name(first), statistic: "mean", columns: [first] } : other ? { name: name(other), statistic: "proportions", columns: [other] } : { name: name("records"), statistic: "count" } };
  }).then(() => { const made = $(id); if (made) { made.open = true; $(`${id}-name`).focus(); } });
}

export default function plan(page) {
  const { read, said } = page.state, made = h("div", {}, h("h1", {}, "Plan"), h("p", { class: "lead" }, "What to release, and how the budget is shared. Forms and text change the same file."));
  if (said) made.append(note(said, "bad"));
  if (!read) { made.append(note("No plan is open. Start one under Data.")); return made; }
  if (!read.mistakes.length) made.append(forecast(page.state));
  const content = read.content, left = h("div", {});
  if (!content) left.append(note("The text is not valid TOML at the moment; the forms come back when it is.", "bad"));
  else {
    const budget = content.budget ?? {}, items = Array.isArray(content.release) ? content.release : [];
    const set = (key, toml) => (value) => edit(value === "" ? { path: ["budget", key], value: null } : toml ? { path: ["budget", key], toml: value } : { path: ["budget", key], value });
    left.append(h("section", { class: "card", "aria-labelledby": "budget" }, h("h2", { id: "budget" }, "Budget"), h("div", { class: "grid tight" },
      field("budget-epsilon", `${budget.rho === undefined ? "ε" : "ρ"} of the whole plan`, type(budget.rho ?? budget.epsilon, set(budget.rho === undefined ? "epsilon" : "rho", true), { inputmode: "decimal" })),
      field("budget-limit", "Limit of the dataset", type(budget.limit, set("limit", true), { inputmode: "decimal" }), "Set by its first charge; the plan's budget by default."),
      field("budget-ledger", "Ledger", type(budget.ledger, set("ledger"))),
      field("budget-dataset", "Dataset", type(budget.dataset, set("dataset"))),
      page.keys.budget.filter((key) => key.kind === "flag").map((key) => ask("budget", ["budget"], key, budget[key.name])))));
    const bar = shares(items);
    left.append(h("section", { class: "card", "aria-labelledby": "items" }, h("h2", { id: "items" }, "Releases"), items.length ? bar : null, h("p", { class: "help below" }, items.length ? "Each part of the bar is the share of a release. Drag the line between two of them, or open one and move its slider." : named(content).length ? "There is none yet." : "There is none yet. First state under Data what is known of the columns: bounds or levels."),
      items.map((item, index) => card(item, index, content, read)), h("p", { class: "row" }, h("button", { class: "main", id: "add", onclick: add }, "Add a release"))));
  }
  made.append(h("div", { class: "two" }, left, editor(read)));
  return made;
}
