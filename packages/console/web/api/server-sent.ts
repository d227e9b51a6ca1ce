/** Reads server-sent events from a body that comes in pieces (WHATWG HTML, section 9.2). */

export type ServerSent = { readonly id?: string; readonly event: string; readonly data: string };

/** One event may be so long; a longer one is not of this door. */
const MOST_CHARS = 64_000_000;

export class ServerSentParser {
  #rest = "";
  #id: string | undefined;
  #event = "";
  #data: string[] = [];

  /** What is whole now. Lines end with LF, as the door writes them, or CRLF. */
  push(text: string): readonly ServerSent[] {
    this.#rest += text;
    if (this.#rest.length > MOST_CHARS) throw new Error("an event is too long");
    const found: ServerSent[] = [];
    let from = 0;
    for (let end = this.#rest.indexOf("\n"); end !== -1; end = this.#rest.indexOf("\n", from)) {
      const line = this.#rest.slice(from, this.#rest[end - 1] === "\r" ? end - 1 : end);
      from = end + 1;
      if (line === "") this.#finish(found);
      else this.#field(line);
    }
    this.#rest = this.#rest.slice(from);
    return found;
  }

  #field(line: string): void {
    const colon = line.indexOf(":");
    if (colon === 0) return; // a comment: the stream is alive
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "id") this.#id = value;
    else if (name === "event") this.#event = value;
    else if (name === "data") this.#data.push(value);
  }

  #finish(found: ServerSent[]): void {
    const id = this.#id === undefined ? {} : { id: this.#id };
    if (this.#data.length > 0 || this.#id !== undefined)
      found.push({ ...id, event: this.#event === "" ? "message" : this.#event, data: this.#data.join("\n") });
    this.#id = undefined;
    this.#event = "";
    this.#data = [];
  }
}
