// What a reader asks first: which numbers are too rough, what is promised, and what is left. All of it is said by the server.

import { page, show } from "/static/app.js";
import { get, post } from "/static/api.js";
import { h, note, worth } from "/static/dom.js";

const MOST = 3;
const seen = { key: null, ahead: null, said: null, results: {} };

/* How many numbers have each mark, as chips. */
export const tally = (items) => ["reliable", "rough", "tells nothing"].flatMap((word) => {
  const count = items.filter((one) => one.worth === word).length;
  return count ? [worth(word, `${count} `)] : [];
});

/* The names of those that are not reliable, the worst first. */
export function doubts(items) {
  const found = ["tells nothing", "rough"].flatMap((word) => items.filter((one) => one.worth === word));
  const named = found.slice(0, MOST).map((one) => `${one.name} (${one.worth})`);
  return named.length ? `Not reliable: ${named.join(", ")}${found.length > MOST ? ` and ${found.length - MOST} more` : ""}.` : "None is too rough.";
}

/* Three answers side by side, or one below the other where there is no room. */
const answer = (id, answers) => h("dl", { id, class: "glance" }, answers.map(([question, ...parts]) => h("div", {}, h("dt", {}, question), h("dd", {}, parts))));
const strong = (words) => h("span", { class: "strong" }, words);

/* The plan as it is: what its numbers would be like. An answer stays until there is a newer one. */
export function forecast({ read, charged }) {
  const key = `${read.revision} ${charged}`, { view } = page;
  if (seen.key !== key) {
    seen.key = key;
    get("glance").then((ahead) => { if (seen.key === key) Object.assign(seen, { ahead, said: ahead.said }); }).catch((error) => { if (seen.key === key) Object.assign(seen, { ahead: null, said: error.message }); })
      .finally(() => { if (seen.key === key && page.view === view) show(); });
  }
  if (seen.said) return note(seen.said, "bad");
  const items = seen.ahead?.items ?? [], ledger = seen.ahead?.ledger;
  return answer("glance", [
    ["Which numbers would be too rough?", seen.ahead ? [h("span", { class: "row" }, tally(items)), doubts(items)] : "Looking ahead …"],
    ["What is promised?", read.promise.words],
    ["What is left?", ledger ? [ledger.left === null ? null : strong(`ε ${ledger.left} left. `), ledger.fits || ledger.left === null ? ledger.said : `This costs ${ledger.cost}, and would be refused.`] : "Asking the ledger …"]]);
}

/* A result: what its report says first. */
export function summary(one) {
  const key = `${one.id} ${one.when} ${page.state.charged}`, { view } = page;
  if (!(key in seen.results)) {
    seen.results[key] = null;
    post("summary", { id: one.id }).then((made) => { seen.results[key] = made; }).catch((error) => { seen.results[key] = { said: error.message }; }).finally(() => { if (page.view === view) show(); });
  }
  const made = seen.results[key];
  if (!made) return h("p", { class: "help" }, "Reading the record …");
  if (made.said) return note(made.said, "bad");
  const more = made.doubtful.length - MOST;
  return answer("summary", [
    ["Which numbers are too rough?", strong(`${made.count}. `), made.doubtful.slice(0, MOST).map(({ name, cells, quality }) => h("div", {}, worth(quality), ` ${name}${cells.length ? `: ${cells.join("; ")}` : ""}`)), more > 0 ? `and ${more} more in the report` : null],
    ["What is promised?", made.promise],
    ["What is left?", strong(made.left[0]), `. ${made.left[1]}`]]);
}
