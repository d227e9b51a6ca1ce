/** `capstan doctor`: what Capstan needs on this machine, one line each, with what to do where something is missing. */

import { access, constants, stat } from "node:fs/promises";
import {
  type Agent,
  CapstanError,
  memoryStore,
  messageOf,
  type Model,
  storeEngine,
  systemClock,
  systemIds,
  type ToolContext,
} from "@capstan/core";
import type { Config } from "../config.ts";
import { homeFolders, makePrivateFolder } from "../home-folders.ts";
import { databasePath, openLocalEngine } from "../open-runtime.ts";
import { CODING_AGENT } from "./coding-agent.ts";
import { EXIT } from "./failure.ts";
import { inertLine } from "./inert.ts";
import { keyCheck, modelCheck, namedModels } from "./model-check.ts";
import { openAgent } from "./open-agent.ts";
import { sandboxCheck } from "./sandbox-check.ts";
import { type AgentSetUp, setUpAgent } from "./set-up-agent.ts";
import { screen as newScreen } from "./screen.ts";
import { readSettings, type Settings, settingsFile } from "./settings.ts";

/** `hint`: Capstan works without it, but not for everything. */
type Finding = { readonly status: "ok" | "hint" | "problem"; readonly what: string; readonly said: string };
type Check = readonly [what: string, look: () => Promise<string | { readonly hint: string }>];

const SEARCH_MS = 10_000;

/** Ends with 1 when something is broken. */
export async function doctorCommand(name: string, config: Config | undefined): Promise<number> {
  const screen = newScreen();
  const folder = config?.dataFolder ?? homeFolders(process.env).data;
  let broken = false;
  for (const [what, look] of checks(name, config, folder)) {
    const finding = await found(what, look);
    const mark = { ok: "ok     ", hint: "note   ", problem: "PROBLEM" }[finding.status];
    screen.data(`${mark}  ${finding.what.padEnd(12)}  ${inertLine(finding.said)}`);
    broken ||= finding.status === "problem";
  }
  await screen.flush();
  return broken ? EXIT.failed : EXIT.done;
}

function checks(name: string, config: Config | undefined, folder: string): readonly Check[] {
  return [
    ["node", async () => `v${process.versions.node} at ${process.execPath}`],
    ["data folder", () => dataFolder(folder)],
    ["store", () => store(folder)],
    ["settings", () => settings(config)],
    ["bash", bash],
    ["ripgrep", ripgrep],
    ["sandbox", async () => sandboxCheck((await readableSettings()).sandbox)],
    ["key", async () => keyCheck(name, namedModels(config, await readableSettings()))],
    ["model", async () => modelCheck(namedModels(config, await readableSettings()))],
  ];
}

async function found(what: string, look: Check[1]): Promise<Finding> {
  try {
    const said = await look();
    return typeof said === "string" ? { status: "ok", what, said } : { status: "hint", what, said: said.hint };
  } catch (error) {
    const code = CapstanError.is(error) ? ` (${error.code})` : "";
    return { status: "problem", what, said: `${messageOf(error).replace(/\.$/, "")}${code}` };
  }
}

async function dataFolder(folder: string): Promise<string> {
  await makePrivateFolder(folder);
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new CapstanError(
      "store-readonly",
      `${folder} cannot be written; change its permissions or set CAPSTAN_HOME`,
      { cause },
    );
  }
  const { mode } = await stat(folder);
  return (mode & 0o077) === 0 || process.platform === "win32"
    ? folder
    : `${folder} (others can look into it: chmod 700 ${folder})`;
}

async function store(folder: string): Promise<string> {
  const engine = await openLocalEngine(folder);
  try {
    const sessions = await engine.list({});
    const damaged = sessions.filter(({ status }) => status === "quarantined").length;
    const unfinished = sessions.filter(
      ({ status }) => status === "running" || status === "waiting" || status === "parked",
    ).length;
    const some = `${databasePath(folder)}: ${sessions.length} sessions, ${unfinished} unfinished`;
    if (damaged > 0)
      throw new CapstanError("session-damaged", `${some}, ${damaged} damaged: see them with "sessions list"`);
    return some;
  } finally {
    await engine.close();
  }
}

/** With its rules and hooks, as `run` takes them. */
async function settings(config: Config | undefined): Promise<string> {
  const file = settingsFile(process.env);
  const read = await readSettings();
  for (const { name } of (config?.agents as readonly Agent<unknown>[] | undefined) ?? [{ name: CODING_AGENT }]) {
    const setUp = await setUpAgent({ config, settings: read, name, model: "demo", root: undefined, asks: true });
    await checkRules(config, setUp);
  }
  const set = Object.keys(read);
  return set.length === 0 ? `none set in ${file}` : `${file} sets ${set.join(", ")}`;
}

/** A file that cannot be read is told once, by `settings`; what else is here can be looked at without it. */
async function readableSettings(): Promise<Settings> {
  return readSettings().catch(() => ({}));
}

const NO_MODEL: Model = { id: "none", capabilities: {}, async *stream() {} };

/** A runtime that opens takes the rules. It gets a store of its own, and no model need be there. */
async function checkRules(config: Config | undefined, { agent, settings: all, plugins }: AgentSetUp): Promise<void> {
  const ids = systemIds(() => systemClock.now());
  const engine = storeEngine(memoryStore(), { clock: systemClock, ids });
  const asked = Object.freeze({ ...agent, model: NO_MODEL });
  const runtime = await openAgent({ engine, agent: asked, config, settings: all, plugins, onRequest: undefined });
  await runtime.close();
}

async function bash(): Promise<string | { readonly hint: string }> {
  const { findBash } = await import("@capstan/tools/shell");
  const path = findBash();
  return path ?? { hint: "there is none, so agents have no shell tool; install bash" };
}

/** Searches for this very file with the tool that agents use. */
async function ripgrep(): Promise<string> {
  const { localWorkspace } = await import("@capstan/tools/workspaces/local");
  const { globTool } = await import("@capstan/tools/files");
  const workspace = await localWorkspace(import.meta.dirname);
  try {
    const context = { workspace, signal: AbortSignal.timeout(SEARCH_MS) } as unknown as ToolContext; // all that the tool looks at
    const output =
      globTool.body.type === "execute"
        ? await globTool.body.execute({ pattern: "doctor-command.*" } as never, context)
        : undefined;
    const said = JSON.stringify(output);
    if (said?.includes("doctor-command.") === true) return "agents can search files";
    throw new CapstanError(
      "process-failed",
      `A search for a file that is there found nothing: ${said}; install Capstan again`,
    );
  } finally {
    await workspace.close();
  }
}
