// Data: which table, what is public about it, and the public rule of each column.

import { edit, page, refresh, show, trouble, calm } from "/static/app.js";
import { post } from "/static/api.js";
import { $, choose, field, h, lacks, note, slug, type } from "/static/dom.js";
import { ask, change, fold, spell } from "/static/keys.js";

const cache = { key: null, columns: null, said: null };
// Keys that have a field of their own on this page.
const OWN = ["source", "table", "neighbours", "rows", "expected_rows", "contributions"];
const WRITTEN = ["separator", "quote", "decimal", "thousands", "encoding", "null_values", "header", "skip_lines", "sheet"];

function load(data) {
  const written = Object.fromEntries(WRITTEN.filter((key) => key in data).map((key) => [key, data[key]]));
  const key = JSON.stringify([data.source, data.table, written]);
  if (cache.key === key) return;
  Object.assign(cache, { key, columns: null, said: null });
  if (!data.source) return;
  post("columns", { source: data.source, table: data.table ?? null, written })
    .then((columns) => { if (cache.key === key) cache.columns = columns; })
    .catch((error) => { if (cache.key === key) cache.said = error.message; })
    .finally(() => { if (cache.key === key && page.view === "data") show(); });
}

function begin(files) {
  const keep = page.keep;
  keep.source ??= files.tables[0] ?? "";
  const name = () => `${(keep.source.startsWith("env:") ? keep.table || "plan" : keep.source).split("/").pop().split(".")[0].replaceAll(/[^A-Za-z0-9_-]/g, "-") || "plan"}.toml`;
  const start = async () => {
    try {
      await post("start", { name: keep.name || name(), source: keep.source, table: keep.table || null });
      calm(); page.keep = {}; await refresh();
    } catch (error) { trouble(error); }
  };
  return h("section", { class: "card", "aria-labelledby": "begin" },
    h("h2", { id: "begin" }, "Start a plan for a table"),
    h("p", { class: "help" }, "Files are those of the folder that was opened. To add one, put it there. Nothing is uploaded, and no value of a table is sent to this page."),
    h("div", { class: "grid" },
      field("begin-file", "Table in the folder", choose([...(files.tables.length ? [] : [["", "there is none"]]), ...files.tables, ["", "a database, below"]], keep.source, (value) => { keep.source = value; })),
      field("begin-source", "Or a database", type(keep.source.startsWith("env:") ? keep.source : "", (value) => { if (value) keep.source = value; }, { placeholder: "env:NAME" }), "The name of an environment variable that holds a postgresql:// address, so that no password is in a plan."),
      field("begin-table", "Table of the database", type(keep.table, (value) => { keep.table = value; }, { placeholder: "public.people" })),
      field("begin-name", "File of the plan", type(keep.name, (value) => { keep.name = value; }, { placeholder: name() }))),
    h("p", { class: "row" }, h("button", { class: "main", id: "begin-go", onclick: start }, "Start the plan")));
}

const bare = (value) => (Array.isArray(value) ? value.map(spell).join(", ") : spell(value));

function rule(one, given) {
  const id = `column-${slug(one.name)}`;
  const at = (key) => ["columns", one.name, key];
  const set = (key, kind) => (value) => edit(change(at(key), kind, value));
  const shown = [given?.bounds && (Array.isArray(given.bounds) && given.bounds.length === 2 ? `from ${given.bounds[0]} to ${given.bounds[1]}` : `bounds ${bare(given.bounds)}`), given?.levels && `${given.levels.length} levels: ${bare(given.levels)}`, given?.edges && `edges ${bare(given.edges)}`, given?.missing !== undefined && `missing: ${given.missing}`].filter(Boolean).join("; ");
  const lines = h("textarea", { rows: 3, spellcheck: "false", onchange: (event) => edit(event.target.value.trim() ? { path: at("levels"), levels: event.target.value } : { path: at("levels"), value: null }) });
  lines.value = lines.defaultValue = (given?.levels ?? []).join("\n");
  return h("details", { id },
    h("summary", {}, h("b", {}, one.name), one.type ? h("span", { class: "chip" }, one.type) : null, h("span", { class: "rule" }, shown || (one.derived ? "computed: yes or no" : "no rule yet: not used")), given && !given.known_from && !one.derived ? h("span", { class: "chip" }, "known from where?") : null),
    h("div", { class: "inside" },
      h("p", { class: "help" }, "State only what is known without looking at the data. A bound or level that is read off the table would reveal it."),
      h("div", { class: "grid" },
        field(`${id}-bounds`, "Bounds, for a number", type(bare(given?.bounds), (value) => edit(/^[A-Za-z./][^,]*$/.test(value) ? { path: at("bounds"), value } : change(at("bounds"), "list", value)), { placeholder: "0, 100" }), "The smallest and the largest value. Values outside are clipped: wide bounds mean more noise, narrow ones more bias. Or the record in which they were released."),
        field(`${id}-levels`, "Levels, for a category", lines, "The possible values, one in a line, or with commas between them."),
        field(`${id}-edges`, "Edges, for a histogram", type(bare(given?.edges), set("edges", "list"), { placeholder: "0, 10, 20, 50" }), "The ends of the intervals."),
        field(`${id}-missing`, "A missing value counts as", type(spell(given?.missing), set("missing", "any"), { placeholder: "refuse the table", list: "ways-missing" }), "A value, a level, skip (the record is left out) or level (missing is a level). Without it a table with missing values is refused, after the charge."),
        field(`${id}-other`, "A value that is no level counts as", type(spell(given?.other), set("other", "any"), { placeholder: "refuse the table", list: "ways-other" }), "One of the levels, or skip."),
        page.keys.columns.filter((key) => key.kind === "flag").map((key) => ask(id, ["columns", one.name], key, given?.[key.name])),
        field(`${id}-from`, "Known from", type(given?.known_from, set("known_from", "text"), { placeholder: "questionnaire 2026, question 3" }), "Where the rule comes from. It is kept in the plan."))));
}

/* Columns that are computed from others of the same record. */
function derived(content) {
  const given = content.derive ?? {};
  const add = () => {
    const name = $("derive-name").value.trim(), text = $("derive-text").value.trim();
    if (!name || !text) { (name ? $("derive-text") : $("derive-name")).focus(); return; }
    edit({ path: ["derive", name], value: text }).then(() => { for (const id of ["derive-name", "derive-text"]) { const one = $(id); if (one) one.value = ""; } });
  };
  return h("section", { class: "card", "aria-labelledby": "derived" }, h("h2", { id: "derived" }, "Computed columns"),
    h("p", { class: "help" }, "A condition or a number made of other columns of the same record: late is delay > 15. A condition has the levels true and false; a number needs bounds of its own, above."),
    h("div", { class: "grid" }, Object.entries(given).map(([name, text]) => field(`derive-${slug(name)}`, name, type(text, (value) => edit({ path: ["derive", name], value: value || null })), "Empty removes it."))),
    h("div", { class: "grid" }, field("derive-name", "Name of a new one", type("", () => {}, { placeholder: "late" })), field("derive-text", "Computed as", type("", () => {}, { placeholder: "delay > 15" }))),
    h("p", { class: "row" }, h("button", { id: "derive-add", onclick: add }, "Add the column")));
}

function table(content, files) {
  const data = content.data ?? {};
  const set = (key, whole) => (value) => edit(value === "" ? { path: ["data", key], value: null } : whole ? { path: ["data", key], toml: value } : { path: ["data", key], value });
  const secret = data.neighbours === "add-remove";
  return h("section", { class: "card", "aria-labelledby": "table" },
    h("h2", { id: "table" }, "The table, and what is public about it"),
    h("div", { class: "grid" },
      field("data-source", "Table", choose([...new Set([data.source ?? "", ...files.tables])], data.source ?? "", set("source"))),
      data.table || (data.source ?? "").match(/^(env:|postgres|.*\.d(uck)?db$)/) ? field("data-table", "Table of the database", type(data.table, set("table"))) : null,
      field("data-neighbours", "What is protected", choose([["substitute", "what a record says"], ["add-remove", "whether a record is there"]], data.neighbours ?? "substitute", (value) => edit({ path: ["data", "neighbours"], value }, ...(value === "add-remove" ? [{ path: ["data", "rows"], value: null }] : [{ path: ["data", "expected_rows"], value: null }]))), secret ? "The number of rows is secret, too." : "The number of rows is public."),
      secret ? field("data-expected", "About how many rows", type(data.expected_rows, set("expected_rows", true), { inputmode: "numeric" }), "For previews only.")
        : field("data-rows", "Number of rows", type(data.rows, set("rows", true), { inputmode: "numeric" }), "Public. A table of another size is refused before anything is spent."),
      field("data-contributions", "Rows that one person may have", type(data.contributions ?? 1, set("contributions", true), { inputmode: "numeric" }))),
    fold("data-persons", "Persons, a filter for everything, times and engine", ["data"], page.keys.data.filter((key) => !OWN.includes(key.name) && !WRITTEN.includes(key.name)), data),
    fold("data-written", "How the file is written", ["data"], page.keys.data.filter((key) => WRITTEN.includes(key.name)), data));
}

export default function data(page) {
  const { read, files, said } = page.state, made = h("div", {});
  made.append(h("h1", {}, "Data"), h("p", { class: "lead" }, "Choose a table and say what is publicly known about its columns. No value of the table is shown here."));
  if (said) made.append(note(said, "bad"));
  if (!read) { made.append(begin(files)); return made; }
  if (!read.content) { made.append(note("The plan is not valid TOML at the moment. Correct its text under Plan.", "bad")); return made; }
  const content = read.content, given = content.columns ?? {};
  made.append(table(content, files));
  load(content.data ?? {});
  const listed = cache.columns ?? [];
  const names = new Set(listed.map((one) => one.name));
  const rest = Object.keys(given).filter((name) => !names.has(name)).map((name) => ({ name, type: name in (content.derive ?? {}) ? "computed" : cache.columns ? "not in the table" : "", derived: name in (content.derive ?? {}) }));
  made.append(h("section", { class: "card", "aria-labelledby": "columns" },
    h("h2", { id: "columns" }, "Columns"),
    cache.said ? note(cache.said, "bad") : null,
    !cache.columns && !cache.said && content.data?.source ? h("p", {}, "Looking at the names …") : null,
    h("p", { class: "help" }, "By name and declared type. Files without types, such as CSV, have none."),
    read.promise ? lacks(read.promise) : null,
    [...listed, ...rest].map((one) => rule(one, given[one.name]))), derived(content),
  h("datalist", { id: "ways-missing" }, ["skip", "level"].map((value) => h("option", { value }))), h("datalist", { id: "ways-other" }, h("option", { value: "skip" })));
  made.append(h("details", { id: "another" }, h("summary", {}, "Start another plan"), h("div", { class: "inside" }, begin(files))));
  return made;
}
