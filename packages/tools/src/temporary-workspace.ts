/** A local workspace for the tests of this package: in a folder of its own, with a neighbour nobody may touch. */

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  check,
  CapstanError,
  textOf,
  type Tool,
  type ToolContext,
  type ToolOutput,
  type ToolProgress,
  type Workspace,
} from "@capstan/core";
import { localWorkspace, type LocalOptions } from "./workspaces/local.ts";

export type TemporaryWorkspace = {
  /** `<folder>/work` is the root, `<folder>/work-evil/secret.txt` lies outside. */
  readonly folder: string;
  readonly root: string;
  readonly workspace: Workspace;
  /** What tools reported while they ran. */
  readonly progress: readonly ToolProgress[];
  readonly context: (signal?: AbortSignal) => ToolContext;
  /** Checks the input as the loop does and performs the call. */
  readonly call: (tool: Tool, input: unknown, signal?: AbortSignal) => Promise<ToolOutput>;
  /** The text of the answer, errors marked. */
  readonly say: (tool: Tool, input: unknown, signal?: AbortSignal) => Promise<string>;
  readonly write: (name: string, content: string | Uint8Array) => void;
  readonly contentOf: (name: string) => string;
  /** Command lines of living processes that stand in the folder. */
  readonly processes: () => readonly string[];
  readonly close: () => Promise<void>;
};

export async function temporaryWorkspace(options: LocalOptions = {}): Promise<TemporaryWorkspace> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "capstan-tools-")));
  const root = join(folder, "work");
  mkdirSync(root);
  mkdirSync(join(folder, "work-evil"));
  writeFileSync(join(folder, "work-evil/secret.txt"), "secret");
  const workspace = await localWorkspace(root, options);
  const progress: ToolProgress[] = [];
  const context = (signal = new AbortController().signal): ToolContext => contextOf(workspace, progress, signal);
  const call = (tool: Tool, input: unknown, signal?: AbortSignal): Promise<ToolOutput> =>
    perform(tool, input, context(signal));
  return {
    folder,
    root,
    workspace,
    progress,
    context,
    call,
    async say(tool, input, signal) {
      const { content, isError } = await call(tool, input, signal);
      return (isError === true ? "ERROR " : "") + textOf(content);
    },
    write(name, content) {
      mkdirSync(join(root, name, ".."), { recursive: true });
      writeFileSync(join(root, name), content);
    },
    contentOf: (name) => readFileSync(join(root, name), "utf8"),
    processes: () => processesIn(folder),
    async close() {
      await workspace.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function contextOf(workspace: Workspace, progress: ToolProgress[], signal: AbortSignal): ToolContext {
  return {
    callId: "run_1/1/0",
    runId: "run_1",
    depth: 0,
    attempt: 1,
    idempotencyKey: "key",
    signal,
    workspace,
    session: { id: "ses_1", metadata: {} },
    actor: { id: "user", door: "test" },
    progress: (update) => void progress.push(update),
  };
}

async function perform(tool: Tool, input: unknown, context: ToolContext): Promise<ToolOutput> {
  const checked = await check(tool.schema, input);
  if (!checked.ok) throw new CapstanError("input-invalid", checked.problem);
  if (tool.body.type !== "execute") throw new Error("no execute");
  return (await tool.body.execute(checked.value as never, context)) as ToolOutput; // checked by the tool's own schema
}

function processesIn(folder: string): readonly string[] {
  if (!existsSync("/proc/self")) return []; // Linux only
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const inside = readlinkSync(`/proc/${pid}/cwd`).startsWith(folder);
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
        return inside && command !== "" ? [command] : [];
      } catch {
        return [];
      }
    });
}
