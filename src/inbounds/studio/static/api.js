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
export function post(name, body) {
  const text = JSON.stringify(body ?? {});
  // What is small is sent even if the page is closed meanwhile.
  return ask(name, { method: "POST", keepalive: text.length < 20000, headers: { "content-type": "application/json" }, body: text });
}
