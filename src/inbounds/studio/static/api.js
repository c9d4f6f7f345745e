// Requests to the server that this page came from, and to no other.

export class Refusal extends Error {
  constructor(words, status) { super(words); this.status = status; }
}

async function ask(name, options) {
  let answer;
  try { answer = await fetch(`/api/${name}`, options); } catch { throw new Refusal("The studio does not answer.", 0); }
  let content = null;
  try { content = await answer.json(); } catch { content = { error: "The answer cannot be read." }; }
  if (!answer.ok) throw new Refusal(content.error ?? "The request was refused.", answer.status);
  return content;
}

export const get = (name) => ask(name);
export const post = (name, body) =>
  ask(name, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body ?? {}) });
