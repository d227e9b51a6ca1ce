/** For tests: a home and a folder for the command, and agents with scripted models and small tools. */

import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type PtyLibraries, type PtyScreen, ptyScreen } from "./pty-screen.ts";

export type OpenOptions = {
  readonly columns?: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
};

export interface TerminalHome extends AsyncDisposable {
  readonly home: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** Opens `capstan <args>` on a screen. */
  open(args: readonly string[], options?: OpenOptions): PtyScreen;
  /** A file in the folder. Returns its path. */
  put(name: string, text: string): Promise<string>;
}

const PROGRAMS = process.env["TEST_PROGRAMS"] ?? ""; // bundled once a run
export const COMMAND: readonly string[] = [process.execPath, join(PROGRAMS, "main.js")];
const LIBRARY = pathToFileURL(join(PROGRAMS, "index.js")).href;
const TESTING = pathToFileURL(join(PROGRAMS, "testing.js")).href;

export async function terminalHome(
  libraries: PtyLibraries,
  extra: Readonly<Record<string, string>> = {},
): Promise<TerminalHome> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "capstan-terminal-")));
  const home = join(root, "home");
  const folder = await mkdtemp(join(root, "work-"));
  const own = { PATH: process.env["PATH"] ?? "", HOME: root, CAPSTAN_HOME: home };
  const env = { ...own, LANG: "C.UTF-8", TERM: "xterm-256color", COLORTERM: "truecolor", ...extra };
  return {
    home,
    folder,
    env,
    open: (args, { env: more = {}, ...size } = {}) =>
      ptyScreen(libraries, [...COMMAND, ...args], { cwd: folder, env: { ...env, ...more }, ...size }),
    async put(name, text) {
      const path = join(folder, name);
      await writeFile(path, text);
      return path;
    },
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** In front of the agents of a configuration: tools that ask, one that reads, one that waits for the file `go`. */
const TOOLS = `
import { existsSync } from "node:fs";
import { agent, config, flowTool, tool } from ${JSON.stringify(LIBRARY)};
import { scriptedModel } from ${JSON.stringify(TESTING)};
const object = { input: () => ({ type: "object" }), output: () => ({ type: "object" }) };
const input = { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }), jsonSchema: object } };
const until = (name) => new Promise((resolve) => {
  const timer = setInterval(() => { if (existsSync(name)) { clearInterval(timer); resolve(undefined); } }, 20);
});
const text = (value) => ({ type: "text", text: value });
const read = tool({ name: "read", description: "Reads.", kind: "read", rerun: "safe", permission: "allow",
  title: ({ path }) => "Read " + path, input, execute: () => "one\\ntwo\\nthree" });
const edit = tool({ name: "edit", description: "Edits.", kind: "edit", permission: "ask",
  title: ({ path }) => "Edit " + path, input,
  execute: ({ path }) => ({ content: [text("Edited."), { type: "diff", path, before: "a\\nb\\nc\\nd\\ne", after: "a\\nb\\nX\\nd\\ne" }] }) });
const run = tool({ name: "run", description: "Runs.", kind: "execute", permission: "ask",
  title: ({ command }) => "Run " + command, input, execute: ({ command }) => "ran " + command });
const slow = tool({ name: "slow", description: "Waits.", kind: "execute", permission: "allow", rerun: "safe",
  title: () => "Wait for go", input,
  async execute(_input, { progress }) { progress({ stream: "stdout", chunk: "half way\\n" }); await until("go"); return "gone"; } });
const flow = (name, body) => flowTool({ name, description: name, permission: "allow", input, flow: body });
`;

/** Writes a configuration with one agent; `turns` of its scripted model and `more` tools are code. Returns the arguments that open it. */
export async function scripted(
  at: TerminalHome,
  turns: string,
  { tools = "read, edit, run, slow", more = "" }: { readonly tools?: string; readonly more?: string } = {},
): Promise<readonly string[]> {
  const model = `scriptedModel(${turns}, { capabilities: { contextTokens: 200000 }, price: { input: 1, output: 4 } })`;
  const helper = `agent({ name: "helper", model: ${model}, instructions: "Help.", tools: [${tools}] })`;
  const file = await at.put("agents.mjs", `${TOOLS}${more}\nexport default config({ agents: [${helper}] });\n`);
  return ["terminal", "--config", file];
}
