/** @capstan/tools/lsp: what language servers say of files, as a tool, and with the result of each edit (TOOL-41). */

import { extname } from "node:path";
import {
  builtIn,
  CapstanError,
  plugin,
  type Plugin,
  text,
  textOutput,
  tool,
  type Tool,
  type ToolOutput,
  type Workspace,
} from "@capstan/core";
import { z } from "zod";
import { decodeText, withoutMark } from "../files/file-text.ts";
import { OneAtATime } from "../one-at-a-time.ts";
import { answering, failure, neededPath, shownPath } from "../tool-answer.ts";
import { type Diagnostic, diagnosticLines } from "./diagnostics.ts";
import { LanguageServer, ServerFailure } from "./language-server.ts";
import { LSP_LIMITS as LIMITS } from "./limits.ts";

export { LSP_LIMITS } from "./limits.ts";

export type LanguageServerOptions = {
  /** Started in the workspace, within its sandbox, when it is first needed; ended with the runtime. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Of the files it knows, such as `.ts`. */
  readonly extensions: readonly string[];
  readonly initializationOptions?: unknown;
};
export type LanguageServersOptions = {
  /** Also adds errors and warnings to the result of each edit. Default true. */
  readonly afterEdits?: boolean;
};

/** By extension, where the name of the server is not the id of the language. */
const LANGUAGES: { readonly [extension: string]: string } = {
  ".ts": "typescript",
  ".mts": "typescript",
  ".cts": "typescript",
  ".tsx": "typescriptreact",
  ".js": "javascript",
  ".mjs": "javascript",
  ".cjs": "javascript",
  ".jsx": "javascriptreact",
  ".py": "python",
  ".rs": "rust",
  ".go": "go",
  ".c": "c",
  ".h": "c",
  ".cc": "cpp",
  ".cpp": "cpp",
  ".hpp": "cpp",
  ".rb": "ruby",
  ".sh": "shellscript",
  ".yml": "yaml",
  ".md": "markdown",
};
/** Of what is added to the result of an edit. */
const WARNING = 2;

/** A plugin with the tool `diagnostics`. Servers are named as their languages. */
export function languageServers(
  servers: { readonly [name: string]: LanguageServerOptions },
  { afterEdits = true }: LanguageServersOptions = {},
): Plugin {
  const running = new RunningServers(servers);
  return plugin({
    name: "language-servers",
    timeoutMs: LIMITS.startMs + LIMITS.diagnosticsMs + 5_000,
    tools: [diagnosticsTool(running)],
    open: () => running.open(),
    async tool(call, context, next) {
      const output = await next(call);
      const { path } = call.input as { readonly path?: unknown }; // looked at only
      if (!afterEdits || output.isError === true || call.tool.kind !== "edit" || typeof path !== "string")
        return output;
      if (!running.knows(path)) return output;
      try {
        const found = await running.diagnose(await context.workspace(), path, context.signal);
        const bad = found === "late" ? [] : found.filter(({ severity }) => (severity ?? 1) <= WARNING);
        if (bad.length === 0) return output;
        const said = `Diagnostics of ${shownPath(path)} after this change:\n${diagnosticLines(bad)}`;
        return { ...output, content: [...output.content, text(said)] };
      } catch (error) {
        if (context.signal.aborted) throw error;
        context.notice("The language server is of no use", error instanceof Error ? error.message : undefined);
        return output;
      }
    },
  });
}

const input = z.object({ path: z.string().describe("Relative to the workspace.") });

function diagnosticsTool(running: RunningServers): Tool {
  return builtIn(
    tool({
      name: "diagnostics",
      description: "Shows the errors and warnings that a language server finds in a file.",
      input,
      kind: "read",
      title: ({ path }) => `Diagnostics of ${shownPath(path)}`,
      needs: ({ path }) => [{ type: "read", path: neededPath(path) }],
      rerun: "safe",
      timeoutMs: LIMITS.startMs + LIMITS.diagnosticsMs + 5_000, // its own come first
      execute: ({ path }, { workspace, signal }) => answering(() => say(running, workspace, path, signal)),
    }),
  );
}

async function say(
  running: RunningServers,
  workspace: Workspace,
  path: string,
  signal: AbortSignal,
): Promise<ToolOutput> {
  if (!running.knows(path))
    return failure(
      `No language server knows ${shownPath(path)}; there are servers for ${running.extensions.join(" ")}.`,
    );
  try {
    const found = await running.diagnose(workspace, path, signal);
    if (found === "late")
      return failure(`The language server said nothing within ${LIMITS.diagnosticsMs / 1000} seconds.`);
    return textOutput(found.length === 0 ? "No diagnostics." : diagnosticLines(found));
  } catch (error) {
    if (error instanceof ServerFailure) return failure(`The language server is of no use: ${error.message}.`);
    throw error;
  }
}

type Named = LanguageServerOptions & { readonly name: string };

/** One server of a kind for each workspace. */
class RunningServers {
  readonly #byExtension: ReadonlyMap<string, Named>;
  readonly #servers = new Map<Workspace, Map<string, Promise<LanguageServer>>>();
  readonly #order = new OneAtATime();
  #users = 0;

  constructor(servers: { readonly [name: string]: LanguageServerOptions }) {
    this.#byExtension = new Map(
      Object.entries(servers).flatMap(([name, options]) =>
        options.extensions.map((extension) => [extension.toLowerCase(), { ...options, name }] as const),
      ),
    );
  }

  get extensions(): readonly string[] {
    return [...this.#byExtension.keys()];
  }

  knows(path: string): boolean {
    return this.#byExtension.has(extname(path).toLowerCase());
  }

  open(): AsyncDisposable {
    this.#users += 1;
    return {
      [Symbol.asyncDispose]: async () => {
        this.#users -= 1;
        if (this.#users > 0) return;
        const all = [...this.#servers.values()].flatMap((servers) => [...servers.values()]);
        this.#servers.clear();
        await Promise.allSettled(all.map(async (server) => (await server).close()));
      },
    };
  }

  /** One after the other for each workspace: a server answers for the last text it was shown. */
  async diagnose(workspace: Workspace, path: string, signal: AbortSignal): Promise<readonly Diagnostic[] | "late"> {
    const extension = extname(path).toLowerCase();
    const options = this.#byExtension.get(extension);
    if (options === undefined || this.#users === 0) throw new CapstanError("closed", "The language servers are closed");
    const { bytes } = await workspace.read(path, { maxBytes: LIMITS.fileBytes, exact: true, signal });
    const content = withoutMark(decodeText(bytes, path));
    return this.#order.run(`${workspace.root}\n${options.name}`, async () => {
      const server = await this.#server(workspace, options, signal);
      return server.diagnose(workspace.resolve(path), LANGUAGES[extension] ?? options.name, content, signal);
    });
  }

  async #server(workspace: Workspace, options: Named, signal: AbortSignal): Promise<LanguageServer> {
    const servers = this.#servers.get(workspace) ?? new Map<string, Promise<LanguageServer>>();
    this.#servers.set(workspace, servers);
    const known = await servers.get(options.name)?.catch(() => undefined);
    if (known?.isUsable === true) return known;
    const { command, args = [], initializationOptions } = options;
    const server = new LanguageServer(workspace, { command, args });
    const started = server.start(initializationOptions, signal).then(
      () => server,
      async (error: unknown) => {
        await server.close();
        throw error;
      },
    );
    started.catch(() => undefined); // whoever asked hears of it
    servers.set(options.name, started);
    return started;
  }
}
