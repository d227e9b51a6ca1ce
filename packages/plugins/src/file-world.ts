/** For the tests of this package: a workspace in memory, tools that read and write in it, and a runtime around them. */

import {
  agent,
  type Agent,
  CapstanError,
  type Fact,
  type FileContent,
  jsonSchema,
  type Plugin,
  type RuntimeOptions,
  sha256,
  textOf,
  textOutput,
  tool,
  type Tool,
  type Workspace,
} from "@capstan/core";
import {
  scriptedModel,
  type ScriptedModel,
  type ScriptedReply,
  testRuntime,
  type TestRuntime,
} from "@capstan/core/testing";

type PathInput = { readonly path: string; readonly offset?: number };
type EditInput = { readonly path: string; readonly old_string: string; readonly new_string: string };
type WriteInput = { readonly path: string; readonly content: string };

export type FileWorld = {
  /** What stands in the workspace, by path; a test may change it behind the tools' back. */
  readonly files: Map<string, string>;
  /** `name path` of every call that really ran. */
  readonly ran: string[];
  readonly tools: readonly Tool[];
  readonly workspaces: NonNullable<RuntimeOptions["workspaces"]>;
};

export function fileWorld(start: { readonly [path: string]: string } = {}): FileWorld {
  const files = new Map(Object.entries(start));
  const ran: string[] = [];
  const workspace = memoryWorkspace(files);
  return {
    files,
    ran,
    tools: [readTool(ran), editTool(ran), writeTool(ran)],
    workspaces: { local: async () => workspace },
  };
}

export const call = (name: string, input: object): { readonly name: string; readonly input: never } => ({
  name,
  input: input as never, // JSON by the hand of the test
});

export type Played = {
  readonly runtime: TestRuntime;
  readonly model: ScriptedModel;
  readonly log: readonly Fact[];
  /** `name status: text` of every result, in the order of the calls. */
  readonly results: readonly string[];
  /** Texts of the last message of each request. */
  readonly heard: readonly string[];
};
export type Play = {
  readonly plugins: readonly Plugin[];
  readonly turns: readonly ScriptedReply[];
  readonly tools?: readonly Tool[];
  readonly world?: FileWorld;
  /** Default one. */
  readonly inputs?: readonly string[];
};

export function workerOf({ plugins, turns, tools = [], world }: Play): {
  readonly worker: Agent;
  readonly model: ScriptedModel;
} {
  const model = scriptedModel(turns);
  const all = [...(world?.tools ?? []), ...tools];
  return { worker: agent({ name: "worker", model, instructions: "Work.", tools: all, plugins }), model };
}

/** One session in which the script is played, an input after the other. */
export async function play(setup: Play): Promise<Played> {
  const { worker, model } = workerOf(setup);
  const { world } = setup;
  const runtime = await testRuntime({ agents: [worker], ...(world !== undefined && { workspaces: world.workspaces }) });
  const session = await runtime.session({ agent: worker, ...(world !== undefined && { workspace: "/work" }) });
  for (const input of setup.inputs ?? ["Go"]) await (await session.send(input)).result();
  const log = await runtime.store.read(session.id, { after: 0, limit: 10_000 });
  await runtime.close();
  return { runtime, model, log, results: resultsOf(log), heard: model.requests.map(lastText) };
}

export function resultsOf(log: readonly Fact[]): readonly string[] {
  const finished = log.filter((fact) => fact.type === "tool.finished");
  const order = log.flatMap((fact) => (fact.type === "message.added" ? fact.message.parts : []));
  const ids = order.flatMap((part) => (part.type === "tool-call" ? [part.callId] : []));
  return finished
    .toSorted((left, right) => ids.indexOf(left.callId) - ids.indexOf(right.callId))
    .map(({ name, status, output }) => `${name} ${status}: ${textOf(output.content)}`);
}

function lastText({ messages }: { readonly messages: ScriptedModel["requests"][number]["messages"] }): string {
  return textOf(messages.at(-1)?.parts ?? []);
}

function object(...names: readonly string[]): ReturnType<typeof jsonSchema<never>> {
  const properties = Object.fromEntries(
    names.map((name) => [name, { type: name === "offset" ? "integer" : "string" }]),
  );
  return jsonSchema<never>({ type: "object", properties, required: names.filter((name) => name !== "offset") });
}

function readTool(ran: string[]): Tool {
  return tool<PathInput>({
    name: "read_file",
    description: "Reads.",
    input: object("path", "offset"),
    kind: "read",
    rerun: "safe",
    needs: ({ path }) => [{ type: "read", path }],
    async execute({ path, offset = 0 }, { workspace }) {
      ran.push(`read_file ${path}`);
      return attempt(async () => new TextDecoder().decode((await workspace.read(path)).bytes).slice(offset));
    },
  });
}

function editTool(ran: string[]): Tool {
  return tool<EditInput>({
    name: "edit",
    description: "Edits.",
    input: object("path", "old_string", "new_string"),
    kind: "edit",
    needs: ({ path }) => [{ type: "write", path }],
    execute: ({ path, old_string, new_string }, { workspace }) =>
      attempt(async () => {
        ran.push(`edit ${path}`);
        const before = new TextDecoder().decode((await workspace.read(path)).bytes);
        if (!before.includes(old_string)) return textOutput("old_string is not in the file", { isError: true });
        const after = before.replace(old_string, () => new_string);
        await workspace.write(path, new TextEncoder().encode(after));
        return {
          content: [
            { type: "text", text: `Edited ${path}.` },
            { type: "diff", path, before, after },
          ],
        };
      }),
    probe: async ({ path, new_string }, { workspace }) => {
      const now = new TextDecoder().decode((await workspace.read(path)).bytes);
      return now.includes(new_string) ? "happened" : "did-not";
    },
  });
}

function writeTool(ran: string[]): Tool {
  return tool<WriteInput>({
    name: "write_file",
    description: "Writes.",
    input: object("path", "content"),
    kind: "edit",
    needs: ({ path }) => [{ type: "write", path }],
    async execute({ path, content }, { workspace }) {
      ran.push(`write_file ${path}`);
      await workspace.write(path, new TextEncoder().encode(content));
      return `Wrote ${path}.`;
    },
  });
}

async function attempt<T>(work: () => Promise<T>): Promise<T | ReturnType<typeof textOutput>> {
  try {
    return await work();
  } catch (error) {
    if (CapstanError.is(error)) return textOutput(error.message, { isError: true });
    throw error;
  }
}

/** Names are relative to `/work`; `./a` and `/work/a` are `a`. */
function memoryWorkspace(files: Map<string, string>): Workspace {
  const named = (path: string): string => path.replace(/^\/work\//, "").replace(/^\.\//, "");
  const contentOf = (path: string): FileContent => {
    const text = files.get(named(path));
    if (text === undefined) throw new CapstanError("path-not-found", `There is no ${JSON.stringify(path)}`);
    const bytes = new TextEncoder().encode(text);
    return { path: named(path), type: "file", size: bytes.length, modifiedAt: 0, bytes, hash: sha256(bytes) };
  };
  return {
    kind: "local",
    root: "/work",
    confinement: "none",
    resolve: (path) => `/work/${named(path)}`,
    stat: async (path) => contentOf(path),
    read: async (path) => contentOf(path),
    write: async (path, bytes) => {
      files.set(named(path), new TextDecoder().decode(bytes));
      return contentOf(path);
    },
    list: async () => [],
    run: () => Promise.reject(new Error("no programs here")),
    close: async () => undefined,
  };
}
