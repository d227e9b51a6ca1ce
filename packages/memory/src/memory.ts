/** Long-term memory: what was said once is found again by its words and by its meaning, in its scope only. */

import { join } from "node:path";
import { CapstanError, type Clock, messageOf, sha256, systemClock } from "@capstan/core";
import { chunksOf } from "./chunk.ts";
import { embedAll, type Embedder } from "./embedder.ts";
import { joinedLabels } from "./labels.ts";
import { MEMORY_LIMITS as LIMITS } from "./limits.ts";
import { checkSpace, MemoryFile, type Passage } from "./memory-file.ts";
import { IN_MEMORY } from "./open-file.ts";
import { fused } from "./rank.ts";
import { vectorExtension } from "./vectors.ts";
import { matchQuery } from "./words.ts";

/** What is remembered in one scope is never found in another: each has a file of its own. */
export type MemoryScope = { readonly tenant?: string; readonly project?: string };

export type NewMemory = {
  readonly text: string;
  /** Who says so, such as `user` or `tool web_fetch`: shown wherever the text is. */
  readonly origin: string;
  readonly sessionId?: string;
  readonly labels?: readonly string[];
  /** Makes room for others when the scope is full. Default false. */
  readonly evictable?: boolean;
};
/** `id` is of the whole text; `passage` of this part of it. */
export type Remembered = {
  readonly id: string;
  readonly passage: number;
  readonly text: string;
  readonly origin: string;
  /** Empty when it was no session. */
  readonly sessionId: string;
  readonly labels: readonly string[];
  readonly at: number;
};
/** What is forgotten: one text, all that one session said, or everything. */
export type ForgetWhich = { readonly id: string } | { readonly sessionId: string } | "all";

export type MemoryOptions = {
  /** Absolute; made when it is missing. Without it nothing outlives the process. */
  readonly folder?: string;
  /** Without it only words are searched. */
  readonly embedder?: Embedder;
  readonly clock?: Clock;
};
type SearchOptions = { readonly limit?: number; readonly signal?: AbortSignal };

export interface Memory extends AsyncDisposable {
  /**
   * Keeps the text once, however often it is told; durable when it resolves. An embedder that fails is made good for later.
   * Throws `input-invalid`, `input-too-large`, `store-full`, `config-invalid`.
   */
  remember(scope: MemoryScope, memory: NewMemory, options?: { readonly signal?: AbortSignal }): Promise<RememberedAs>;
  /** The best passages first, at most `limit` (default 5, highest 50). */
  search(scope: MemoryScope, query: string, options?: SearchOptions): Promise<Found>;
  /** In the order asked for; without those that were forgotten. */
  passages(scope: MemoryScope, passages: readonly number[]): Promise<readonly Remembered[]>;
  newest(scope: MemoryScope, options?: { readonly limit?: number }): Promise<readonly Remembered[]>;
  /** How many texts there were. Their bytes are overwritten. */
  forget(scope: MemoryScope, which: ForgetWhich): Promise<number>;
  /** After a change of the embedder: all vectors are made anew, a part with each call of `remember` and `search`. */
  embedAgain(scope: MemoryScope): Promise<void>;
  /** Nothing may be called afterwards. */
  close(): Promise<void>;
}
/** `embedded`: every passage of the scope has its vector, or there is no embedder. */
export type RememberedAs = { readonly id: string; readonly isNew: boolean; readonly embedded: boolean };
/** `by`: "words" when there is no embedder, or it failed with `problem`. */
export type Found = {
  readonly passages: readonly Remembered[];
  readonly by: "words" | "words and vectors";
  readonly problem?: string;
};

/** Nothing is opened before it is used. Throws `config-invalid`. */
export function memory(options: MemoryOptions = {}): Memory {
  return new FileMemory(options);
}

const NEVER = new AbortController().signal;
/** What an embedder without a word on it calls unlike. */
const LEAST_SIMILARITY = 0.3;

class FileMemory implements Memory {
  readonly #options: MemoryOptions;
  readonly #clock: Clock;
  /** The one used last is last. */
  readonly #files = new Map<string, MemoryFile>();
  #restUntil = 0;
  #closed = false;

  constructor(options: MemoryOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    if (options.embedder?.id.trim() === "") throw new CapstanError("config-invalid", "An embedder needs an id");
  }

  async remember(
    scope: MemoryScope,
    { text, origin, sessionId = "", labels = [], evictable = false }: NewMemory,
    { signal = NEVER }: { readonly signal?: AbortSignal } = {},
  ): Promise<RememberedAs> {
    checkText(text, origin);
    const clean = text.toWellFormed().trim();
    const id = `mem_${sha256(`${origin}\n${clean}`).slice(0, 24)}`;
    const entry = { id, origin, sessionId, labels: joinedLabels(labels), at: this.#clock.now(), evictable };
    const file = await this.#file(scope);
    const isNew = file.add(entry, chunksOf(clean));
    await this.#embedPending(scope, signal);
    const isEmbedded = this.#options.embedder === undefined || (await this.#file(scope)).pending(1).length === 0;
    return { id, isNew, embedded: isEmbedded };
  }

  async search(scope: MemoryScope, query: string, { limit = 5, signal = NEVER }: SearchOptions = {}): Promise<Found> {
    const wanted = Math.min(Math.max(1, Math.trunc(limit)), LIMITS.found);
    const words = matchQuery(query);
    const problem = await this.#embedPending(scope, signal);
    const near = await this.#near(scope, query, { wanted, signal });
    const file = await this.#file(scope);
    const byWords = words === undefined ? [] : file.byWords(words, wanted * 2);
    const numbers = fused([byWords, near.numbers ?? []]).slice(0, wanted);
    const said = near.problem ?? problem;
    return {
      passages: file.passages(numbers).map(toRemembered),
      by: near.numbers === undefined ? "words" : "words and vectors",
      ...(said !== undefined && { problem: said }),
    };
  }

  async passages(scope: MemoryScope, passages: readonly number[]): Promise<readonly Remembered[]> {
    return (await this.#file(scope)).passages(passages.slice(0, LIMITS.found)).map(toRemembered);
  }

  async newest(
    scope: MemoryScope,
    { limit = LIMITS.found }: { readonly limit?: number } = {},
  ): Promise<readonly Remembered[]> {
    return (await this.#file(scope)).newest(Math.min(limit, LIMITS.found)).map(toRemembered);
  }

  async forget(scope: MemoryScope, which: ForgetWhich): Promise<number> {
    return (await this.#file(scope)).forget(which);
  }

  async embedAgain(scope: MemoryScope): Promise<void> {
    (await this.#open(scope)).dropVectors();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const file of this.#files.values()) file.close();
    this.#files.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Gives passages their vectors, as many as one call may. Answers with what went wrong, but throws when models would mix. */
  async #embedPending(scope: MemoryScope, signal: AbortSignal): Promise<string | undefined> {
    for (let done = 0; done < LIMITS.embedPerCall; done += LIMITS.embedBatch) {
      const { embedder } = this.#options;
      const pending = (await this.#file(scope)).pending(LIMITS.embedBatch);
      if (embedder === undefined || pending.length === 0) return undefined;
      const texts = pending.map(({ text }) => text);
      const embedded = await this.#embed(embedder, texts, { as: "passage", signal });
      if ("problem" in embedded) return embedded.problem;
      (await this.#file(scope)).setVectors(embedder.id, pending, embedded.vectors);
    }
    return undefined;
  }

  async #near(
    scope: MemoryScope,
    query: string,
    { wanted, signal }: { readonly wanted: number; readonly signal: AbortSignal },
  ): Promise<{ readonly numbers?: readonly number[]; readonly problem?: string }> {
    const { embedder } = this.#options;
    const text = query.slice(0, LIMITS.queryCharacters).toWellFormed().trim();
    if (embedder === undefined || text === "" || (await this.#file(scope)).space() === undefined) return {};
    const embedded = await this.#embed(embedder, [text], { as: "query", signal });
    if ("problem" in embedded) return embedded;
    const file = await this.#file(scope);
    const [vector] = embedded.vectors;
    if (vector === undefined) return {};
    checkSpace(file.space(), embedder.id, vector.length);
    const least = embedder.leastSimilarity ?? LEAST_SIMILARITY;
    return { numbers: file.byVector(vector, least, wanted * 2) };
  }

  async #embed(
    embedder: Embedder,
    texts: readonly string[],
    options: { readonly as: "passage" | "query"; readonly signal: AbortSignal },
  ): Promise<{ readonly vectors: readonly Float32Array[] } | { readonly problem: string }> {
    const { signal } = options;
    signal.throwIfAborted();
    if (this.#clock.monotonic() < this.#restUntil)
      return { problem: `${embedder.id} failed just now and is left alone` };
    try {
      return { vectors: await embedAll(embedder, texts, options) };
    } catch (error) {
      signal.throwIfAborted();
      this.#restUntil = this.#clock.monotonic() + LIMITS.embedRestMs;
      return { problem: messageOf(error) };
    }
  }

  /** Throws `config-invalid` when its vectors are of another model. */
  async #file(scope: MemoryScope): Promise<MemoryFile> {
    const file = await this.#open(scope);
    const { embedder } = this.#options;
    if (embedder !== undefined) checkSpace(file.space(), embedder.id);
    return file;
  }

  async #open({ tenant = "", project = "" }: MemoryScope): Promise<MemoryFile> {
    const extension = await vectorExtension();
    if (this.#closed) throw new CapstanError("closed", "The memory is closed");
    const { folder } = this.#options;
    const name = sha256(JSON.stringify([tenant, project])).slice(0, 32);
    const open = this.#files.get(name);
    if (open !== undefined) {
      this.#files.delete(name);
      this.#files.set(name, open);
      return open;
    }
    if (folder === undefined && this.#files.size >= LIMITS.scopesWithoutFolder)
      throw new CapstanError("store-full", `Without a folder there are at most ${LIMITS.scopesWithoutFolder} scopes`);
    const path = folder === undefined ? IN_MEMORY : join(folder, `${name}.sqlite`);
    const file = new MemoryFile(path, { tenant, project }, extension);
    this.#files.set(name, file);
    if (folder !== undefined && this.#files.size > LIMITS.openFiles) this.#closeOldest();
    return file;
  }

  #closeOldest(): void {
    const [oldest] = this.#files;
    if (oldest === undefined) return;
    this.#files.delete(oldest[0]);
    setImmediate(() => oldest[1].close()); // whoever was just given it has used it by then
  }
}

function checkText(text: string, origin: string): void {
  if (text.trim() === "") throw new CapstanError("input-invalid", "There is nothing to remember in an empty text");
  if (text.length > LIMITS.textCharacters)
    throw new CapstanError("input-too-large", `One memory has at most ${LIMITS.textCharacters} characters`);
  if (origin.trim() === "" || origin.length > LIMITS.nameCharacters)
    throw new CapstanError("input-invalid", `An origin has 1 to ${LIMITS.nameCharacters} characters`);
}

function toRemembered({ n, ...rest }: Passage): Remembered {
  return { passage: n, ...rest };
}
