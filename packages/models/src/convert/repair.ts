/** A conversation that every provider accepts, made of drafts in any state: each call has its result right behind it. Pure. */

import { type Message, type Part, text, textOutput, type ToolResultPart } from "@capstan/core";
import type { Draft, Note, RepairCode } from "./draft.ts";
import { type PairedCall, pairCalls, type Pairs } from "./pair-calls.ts";
import { isEmpty, placeParts } from "./place-parts.ts";

/** Stands for the result of a call that has none. */
const NO_RESULT = "This call has no result: the conversation was interrupted.";
const NO_START = "[The beginning of this conversation is missing.]";

type NoteAt = (code: RepairCode, at: number, detail: string) => void;

/** Messages that need no repair stay as they are, their ids too: what comes out comes out of a second repair unchanged. */
export function repaired(given: readonly Draft[], note: NoteAt): readonly Message[] {
  const drafts = given.map((draft): Draft => {
    const noteHere: Note = (code, detail) => note(code, draft.at, detail);
    return { ...draft, parts: placeParts(draft.role, draft.parts, noteHere) };
  });
  const builder = new Builder(drafts, pairCalls(drafts, note), note);
  for (const [index, draft] of drafts.entries()) builder.add(draft, index);
  return builder.done();
}

class Builder {
  readonly #drafts: readonly Draft[];
  readonly #pairs: Pairs;
  readonly #note: NoteAt;
  readonly #ids = new Set<string>();
  /** Drafts whose id went to the message of their results. */
  readonly #taken = new Set<number>();
  readonly #messages: Message[] = [];

  constructor(drafts: readonly Draft[], pairs: Pairs, note: NoteAt) {
    this.#drafts = drafts;
    this.#pairs = pairs;
    this.#note = note;
  }

  done(): readonly Message[] {
    const [first] = this.#messages;
    if (first?.role !== "assistant") return this.#messages;
    this.#note("start-missing", 0, "the first message is the assistant's");
    return [{ id: this.#fresh("imported/start"), role: "user", parts: [text(NO_START)] }, ...this.#messages];
  }

  add(draft: Draft, index: number): void {
    const { at, role, labels } = draft;
    const parts = draft.parts.flatMap((part) => this.#kept(part));
    const hadResults = parts.length < draft.parts.length;
    if (isEmpty(parts)) {
      if (!hadResults) this.#note("message-empty", at, `a message of role ${role}`);
      return;
    }
    const id = this.#idOf(draft, index);
    this.#messages.push({ id, role, parts, ...(labels !== undefined && { labels }) });
    const calls = draft.parts.flatMap((part) => {
      const call = part.type === "tool-call" && part.by !== "provider" ? this.#pairs.get(part) : undefined;
      return call === undefined ? [] : [call];
    });
    if (calls.length > 0) this.#addResults(id, at, calls);
  }

  /** Calls under their new ids; results are put where they belong. */
  #kept(part: Part): readonly Part[] {
    if (part.type === "tool-result") return [];
    return [part.type === "tool-call" ? (this.#pairs.get(part)?.part ?? part) : part];
  }

  #addResults(answerId: string, at: number, calls: readonly PairedCall[]): void {
    const parts = calls.map(({ part, result }): ToolResultPart => {
      const { callId, name } = part;
      if (result === undefined) this.#note("call-unanswered", at, `${name} ${callId}`);
      const output = result?.output ?? textOutput(NO_RESULT, { isError: true });
      return { type: "tool-result", callId, name, output };
    });
    const sources = [...new Set(calls.flatMap(({ from }) => from ?? []))];
    const labels = [...new Set(sources.flatMap((index) => this.#drafts[index]?.labels ?? []))];
    const id = this.#resultsId(sources) ?? this.#fresh(`${answerId}/results`);
    this.#messages.push({ id, role: "user", parts, ...(labels.length > 0 && { labels }) });
  }

  /** The id of the message that brought all these results and nothing else. */
  #resultsId(sources: readonly number[]): string | undefined {
    const [only] = sources;
    const draft = only === undefined ? undefined : this.#drafts[only];
    if (
      draft?.id === undefined ||
      draft.id === "" ||
      sources.length !== 1 ||
      only === undefined ||
      this.#taken.has(only)
    )
      return undefined;
    if (!draft.parts.every(({ type }) => type === "tool-result") || this.#ids.has(draft.id)) return undefined;
    this.#taken.add(only);
    this.#ids.add(draft.id);
    return draft.id;
  }

  #idOf({ id, at }: Draft, index: number): string {
    if (id === undefined || id === "") return this.#fresh(`imported/${index}`);
    if (this.#ids.has(id)) this.#note("id-repeated", at, id);
    return this.#fresh(id);
  }

  #fresh(id: string): string {
    let fresh = id;
    for (let count = 2; this.#ids.has(fresh); count++) fresh = `${id}/${count}`;
    this.#ids.add(fresh);
    return fresh;
  }
}
