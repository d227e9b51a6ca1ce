/** What the model is sent and answers, and what tools are given and return: numbered files of each session. */

import { createHash } from "node:crypto";
import { isAbsolute, join } from "node:path";
import {
  CapstanError,
  type Envelope,
  isLive,
  messageOf,
  type ModelEvent,
  type ModelNext,
  type ModelRequest,
  type Part,
  type Plugin,
  plugin,
  type Redactor,
} from "@capstan/core";
import { FolderWriter, type Pair } from "./folder-writer.ts";

export type DebugFilesOptions = {
  /** Absolute: each session gets the folder `<folder>/<session id>/debugger`. */
  readonly folder: string;
  /** Of one session; the oldest are removed. Default 2,000. */
  readonly maxFiles?: number;
};

const MAX_FILES = 2_000;
const MAX_SESSIONS = 1_000;
const MAX_CALLS = 4_096;

/**
 * `api_request_1.json` with `api_response_1.json`, `tool_call_1.json` with `tool_result_1.json`, and so on, also across
 * processes. Private to the user, without registered secrets. Stands behind plugins that change what the model is asked.
 * Throws `plugin-invalid`.
 */
export function debugFiles({ folder, maxFiles = MAX_FILES }: DebugFilesOptions): Plugin {
  if (!isAbsolute(folder)) throw invalid("folder must be an absolute path");
  if (!Number.isSafeInteger(maxFiles) || maxFiles < 1) throw invalid("maxFiles is a whole number from 1 on");
  const debuggers = new SessionFiles(folder, maxFiles);
  return plugin({
    name: "debug-files",
    model: (request, _context, next) => debuggers.watch(request, next),
    on: (envelope) => debuggers.see(envelope),
    open(runtime) {
      debuggers.redactors.add(runtime.redactor);
      return {
        async [Symbol.asyncDispose]() {
          await debuggers.settled();
          debuggers.redactors.delete(runtime.redactor);
        },
      };
    },
  });
}

class SessionFiles {
  readonly redactors = new Set<Redactor>();
  readonly #folder: string;
  readonly #maxFiles: number;
  readonly #writers = new Map<string, FolderWriter>();
  readonly #calls = new Map<string, Pair>();

  constructor(folder: string, maxFiles: number) {
    this.#folder = folder;
    this.#maxFiles = maxFiles;
  }

  async *watch(request: ModelRequest, next: ModelNext): AsyncGenerator<readonly ModelEvent[]> {
    const writer = this.#of(request.sessionId);
    const pair: Pair = {};
    const { system, tools, settings, cache } = request;
    const messages = [...request.messages]; // the conversation's own list grows
    writer.write("api_request", () => this.#text({ system, tools, messages, settings, cache }), pair);
    const parts: Part[] = [];
    const seen: { model?: string; responseId?: string; finish?: unknown; error?: string } = {};
    try {
      for await (const batch of next(request)) {
        for (const event of batch) {
          if (event.type === "start") Object.assign(seen, event);
          else if (event.type === "block-end") parts.push(event.part);
          else if (event.type === "finish") seen.finish = event;
        }
        yield batch;
      }
    } catch (error) {
      seen.error = messageOf(error);
      throw error;
    } finally {
      writer.write("api_response", () => this.#text({ ...seen, cut: seen.finish === undefined, parts }), pair);
    }
  }

  see({ sessionId, event }: Envelope): void {
    if (isLive(event)) return;
    if (event.type === "tool.started") {
      const pair: Pair = {};
      this.#calls.set(event.callId, pair);
      const [oldest] = this.#calls.keys();
      if (this.#calls.size > MAX_CALLS && oldest !== undefined) this.#calls.delete(oldest);
      this.#of(sessionId).write("tool_call", () => this.#text(event), pair);
    } else if (event.type === "tool.finished") {
      const pair = this.#calls.get(event.callId);
      this.#calls.delete(event.callId);
      this.#of(sessionId).write("tool_result", () => this.#text(event), pair);
    }
  }

  async settled(): Promise<void> {
    await Promise.all([...this.#writers.values()].map((writer) => writer.settled()));
  }

  #of(sessionId: string): FolderWriter {
    const known = this.#writers.get(sessionId);
    if (known !== undefined) return known;
    const writer = new FolderWriter(join(this.#folder, folderName(sessionId), "debugger"), this.#maxFiles);
    this.#writers.set(sessionId, writer);
    const [oldest] = this.#writers.keys();
    if (this.#writers.size > MAX_SESSIONS && oldest !== undefined) this.#writers.delete(oldest);
    return writer;
  }

  /** The secrets of every runtime: whose session it is need not be known. */
  #text(value: unknown): string {
    let text = JSON.stringify(value, undefined, 2);
    for (const redactor of this.redactors) text = redactor.text(text);
    return `${text}\n`;
  }
}

/** An id is opaque: what is no plain name becomes one. */
function folderName(sessionId: string): string {
  if (/^[\w-]{1,128}$/.test(sessionId)) return sessionId;
  return createHash("sha256").update(sessionId).digest("hex");
}

function invalid(what: string): CapstanError {
  return new CapstanError("plugin-invalid", `debugFiles: ${what}`);
}
