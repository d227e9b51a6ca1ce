/** One language server over its standard streams (LSP 3.17), run in a workspace and ended with it. It is not trusted. */

import { pathToFileURL } from "node:url";
import { type Clock, messageOf, systemClock, type Workspace } from "@capstan/core";
import { type Diagnostic, diagnosticsOf } from "./diagnostics.ts";
import { LSP_LIMITS as LIMITS } from "./limits.ts";
import { framed, type LspMessage, MessageReader } from "./lsp-messages.ts";

export type ServerCommand = {
  /** A program that is found inside the workspace's sandbox, if there is one. */
  readonly command: string;
  readonly args: readonly string[];
};
type OpenFile = {
  readonly uri: string;
  readonly version: number;
  /** Of this version; undefined until the server has spoken. */
  found: readonly Diagnostic[] | undefined;
};

/** What a server did that made it of no use, in words for the model. */
export class ServerFailure extends Error {}

export class LanguageServer {
  readonly #clock: Clock;
  readonly #root: string;
  readonly #stop = new AbortController();
  readonly #reader = new MessageReader();
  readonly #asked = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #files = new Map<string, OpenFile>();
  /** Settled and made anew whenever the server has spoken about a file. */
  #news = Promise.withResolvers<void>();
  readonly #failed = Promise.withResolvers<never>();
  #failure: ServerFailure | undefined;
  readonly #begun = Promise.withResolvers<true>();
  #input: NodeJS.WritableStream | undefined;
  #unread = 0;
  #ids = 0;
  #pulls = false;
  /** Settles when nothing of it runs any more. */
  readonly ended: Promise<void>;

  constructor(workspace: Workspace, command: ServerCommand, clock: Clock = systemClock) {
    this.#clock = clock;
    this.#root = workspace.root;
    this.#failed.promise.catch(() => undefined); // seen by whoever waits
    this.ended = this.#run(workspace, command);
  }

  get isUsable(): boolean {
    return this.#failure === undefined;
  }

  /** Once, before anything else. Throws `ServerFailure`. */
  async start(initializationOptions: unknown, signal: AbortSignal): Promise<void> {
    const rootUri = pathToFileURL(this.#root).href;
    if ((await this.#within(this.#begun.promise, LIMITS.startMs, signal)) === undefined)
      throw new ServerFailure(`it did not start within ${LIMITS.startMs / 1000} seconds`);
    const result = await this.#ask("initialize", LIMITS.startMs, signal, {
      processId: null,
      rootUri,
      workspaceFolders: [{ uri: rootUri, name: "workspace" }],
      initializationOptions: initializationOptions ?? null,
      capabilities: {
        textDocument: {
          synchronization: { didSave: true },
          publishDiagnostics: { versionSupport: true },
          diagnostic: { dynamicRegistration: false },
        },
        workspace: { configuration: true, workspaceFolders: true },
      },
    });
    const { capabilities } = (result ?? {}) as { readonly capabilities?: { readonly diagnosticProvider?: unknown } }; // looked at only
    this.#pulls = Boolean(capabilities?.diagnosticProvider);
    this.#tell("initialized", {});
  }

  /** Of a file of the workspace with this text. `late` when the server did not speak in time. Throws `ServerFailure`. */
  async diagnose(
    path: string,
    languageId: string,
    text: string,
    signal: AbortSignal,
  ): Promise<readonly Diagnostic[] | "late"> {
    const uri = pathToFileURL(path).href;
    const file = this.#show(uri, languageId, text);
    const end = this.#clock.monotonic() + LIMITS.diagnosticsMs;
    if (this.#pulls) {
      const report = await this.#ask("textDocument/diagnostic", LIMITS.diagnosticsMs, signal, {
        textDocument: { uri },
      });
      return diagnosticsOf((report as { readonly items?: unknown } | null)?.items); // looked at only
    }
    for (;;) {
      const left = end - this.#clock.monotonic();
      if (left <= 0) return file.found ?? "late";
      const isQuiet = file.found !== undefined;
      const wait = isQuiet ? Math.min(LIMITS.quietMs, left) : left;
      const spoke = await this.#within(
        this.#news.promise.then(() => true),
        wait,
        signal,
      );
      if (spoke !== true && isQuiet) return file.found ?? [];
    }
  }

  /** Asks it to end, and ends it. */
  async close(): Promise<void> {
    if (this.isUsable) {
      const over = new AbortController();
      await this.#ask("shutdown", LIMITS.endMs, over.signal, undefined).catch(() => undefined);
      this.#tell("exit", undefined);
      this.#input?.end();
      await this.#within(this.ended, LIMITS.endMs, over.signal).catch(() => undefined);
    }
    this.#stop.abort();
    await this.ended;
  }

  async #run(workspace: Workspace, { command, args }: ServerCommand): Promise<void> {
    try {
      const { exitCode, stderr } = await workspace.run([command, ...args], {
        timeoutMs: LIMITS.lifetimeMs,
        maxOutputBytes: 2_000,
        signal: this.#stop.signal,
        onInput: (input) => {
          this.#input = input;
          this.#begun.resolve(true);
        },
        onOutput: (stream, piece) => {
          if (stream === "stdout" && this.isUsable) this.#hear(piece);
        },
      });
      const why = stderr.trim().split("\n").at(-1)?.slice(0, 300) ?? "";
      this.#fail(`it ended with ${exitCode ?? "a signal"}${why === "" ? "" : `: ${why}`}`);
    } catch (error) {
      this.#fail(messageOf(error));
    }
  }

  #hear(piece: string): void {
    try {
      for (const message of this.#reader.push(piece)) this.#take(message);
    } catch (error) {
      this.#fail(messageOf(error));
    }
  }

  #take({ id, method, params, result, error }: LspMessage): void {
    if (method === undefined) {
      const asked = typeof id === "number" ? this.#asked.get(id) : undefined;
      if (error === undefined || error === null) asked?.resolve(result);
      else asked?.reject(new ServerFailure("it refused what it was asked"));
      return;
    }
    if (id !== undefined && id !== null) return this.#answer(id, method, params);
    if (method !== "textDocument/publishDiagnostics") return;
    const { uri, version, diagnostics } = (params ?? {}) as { readonly [name: string]: unknown }; // looked at only
    const file = typeof uri === "string" ? this.#files.get(normal(uri)) : undefined;
    if (file === undefined || (typeof version === "number" && version !== file.version)) return;
    file.found = diagnosticsOf(diagnostics);
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }

  /** Servers wait for answers to what they ask. Nothing they ask for is done. */
  #answer(id: number | string, method: string, params: unknown): void {
    const { items } = (params ?? {}) as { readonly items?: unknown }; // looked at only
    if (method === "workspace/configuration" && Array.isArray(items))
      return this.#write({ id, result: items.slice(0, 100).map(() => null) });
    const isKnown =
      /^(?:client\/(?:un)?registerCapability|window\/workDoneProgress\/create|workspace\/\w+\/refresh|workspace\/diagnostic\/refresh)$/;
    if (isKnown.test(method)) return this.#write({ id, result: null });
    if (method === "workspace/applyEdit") return this.#write({ id, result: { applied: false } });
    return this.#write({ id, error: { code: -32_601, message: "not offered" } });
  }

  /** Opens the file at the server, or tells it the text it has now. */
  #show(uri: string, languageId: string, text: string): OpenFile {
    const key = normal(uri);
    const known = this.#files.get(key);
    this.#files.delete(key);
    const version = (known?.version ?? 0) + 1;
    const file: OpenFile = { uri, version, found: undefined };
    this.#files.set(key, file); // the last one used is the last one closed
    if (known === undefined) this.#tell("textDocument/didOpen", { textDocument: { uri, languageId, version, text } });
    else {
      this.#tell("textDocument/didChange", { textDocument: { uri, version }, contentChanges: [{ text }] });
      this.#tell("textDocument/didSave", { textDocument: { uri } });
    }
    const [oldest] = this.#files;
    if (this.#files.size > LIMITS.openFiles && oldest !== undefined) {
      this.#files.delete(oldest[0]);
      this.#tell("textDocument/didClose", { textDocument: { uri: oldest[1].uri } });
    }
    return file;
  }

  async #ask(method: string, ms: number, signal: AbortSignal, params: unknown): Promise<unknown> {
    const id = ++this.#ids;
    const asked = Promise.withResolvers<unknown>();
    asked.promise.catch(() => undefined); // nobody may be waiting any more
    this.#asked.set(id, asked);
    try {
      this.#write({ id, method, params });
      const answer = await this.#within(
        asked.promise.then((result) => ({ result })),
        ms,
        signal,
      );
      if (answer === undefined) throw new ServerFailure(`it did not answer ${method} within ${ms / 1000} seconds`);
      return answer.result;
    } finally {
      this.#asked.delete(id);
    }
  }

  #tell(method: string, params: unknown): void {
    this.#write({ method, params });
  }

  #write(message: object): void {
    const text = framed(message);
    this.#unread += text.length;
    this.#input?.write(text, () => (this.#unread -= text.length));
    if (this.#unread > LIMITS.unreadCharacters) this.#fail("it does not read what it is sent");
  }

  /** The value, or undefined when it takes longer. Throws `ServerFailure` when the server fails meanwhile, and on abort. */
  async #within<T>(promise: Promise<T>, ms: number, signal: AbortSignal): Promise<T | undefined> {
    signal.throwIfAborted();
    const late = Promise.withResolvers<undefined>();
    const cancel = this.#clock.after(ms, () => late.resolve(undefined));
    const onAbort = (): void => late.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await Promise.race([promise, late.promise, this.#failed.promise]);
    } finally {
      cancel();
      signal.removeEventListener("abort", onAbort);
    }
  }

  #fail(why: string): void {
    if (this.#failure !== undefined) return;
    this.#failure = new ServerFailure(why);
    this.#failed.reject(this.#failure);
    this.#stop.abort();
  }
}

/** Servers write the same address in several ways. */
function normal(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}
