/** `capstan` at a terminal: sets up the agent of the folder and opens the terminal on its sessions, again for each other folder. */

import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { type Agent, CapstanError, messageOf, type PermissionMode, redactor, type Runtime } from "@capstan/core";
import type { TerminalEnd, TerminalHost } from "@capstan/tui";
import type { Config } from "../config.ts";
import { providerSecrets, resolveModel } from "../open-runtime.ts";
import { loadConfig } from "./config-file.ts";
import { EXIT, usage } from "./failure.ts";
import { inertLine } from "./inert.ts";
import { openAgent, openEngine } from "./open-agent.ts";
import { type Confinement, withSandbox } from "./sandbox-setting.ts";
import { screen as newScreen } from "./screen.ts";
import { type AgentSetUp, setUpAgent } from "./set-up-agent.ts";
import { readSettings } from "./settings.ts";
import { createdFact, knownSummary } from "./stored-sessions.ts";
import { terminalLine } from "./terminal-line.ts";
import { keepTheme, type TerminalLook, terminalLook } from "./terminal-look.ts";
import { openRemote } from "./terminal-remote.ts";
import { slashCommands } from "./terminal-slash.ts";
import { askTrust } from "./trust-command.ts";
import { canOpenTerminal } from "./tui-command-line.ts";

export type TerminalFlags = {
  readonly session?: string;
  readonly continue?: boolean;
  readonly agent?: string;
  readonly model?: string;
  readonly mode?: PermissionMode;
  readonly theme?: string;
  readonly config?: string;
  readonly cwd?: string;
  readonly sandbox?: Confinement;
  /** Of a server: nothing runs here then. */
  readonly url?: string;
};

const TITLE_LENGTH = 60;
const CLOSE_GRACE_MS = 1_000;
const DEMO_MODEL = "demo";

/** Returns the exit code. */
export async function terminalCommand(
  name: string,
  given: Config | undefined,
  flags: TerminalFlags = {},
): Promise<number> {
  if (!canOpenTerminal(process))
    throw usage(`The terminal needs one: standard input and output are not; use "${name} run" here`);
  const look = await terminalLook(flags.theme);
  if (flags.url !== undefined) {
    const end = await openRemote(flags.url, flags, look);
    return end.type === "leave" ? leave(name, end, `--url ${flags.url} `) : EXIT.done; // it can open all that it lists
  }
  const config = flags.config === undefined ? given : await loadConfig(flags.config);
  let opening: Opening = { name, config, flags, look, sessionId: flags.session, isFirst: true };
  let before: Opening | undefined;
  for (;;) {
    try {
      const end = await openOnce(opening);
      if (end.type === "leave") return await leave(name, end);
      before = { ...opening, sessionId: end.from };
      opening = { ...opening, sessionId: end.sessionId, isFirst: false };
    } catch (error) {
      if (before === undefined) throw error;
      opening = { ...before, problem: messageOf(error) }; // one that cannot be opened leaves the person where they were
      before = undefined;
    }
  }
}

async function leave(
  name: string,
  { code, sessionId, isRunning }: Extract<TerminalEnd, { type: "leave" }>,
  place = "",
): Promise<number> {
  const typed = "npm_command" in process.env ? `npx ${name}` : name; // npm started it: it may not be on the PATH
  if (sessionId !== undefined) {
    const later = isRunning ? "the run is not finished; go on with it: " : "";
    const line = `${later}${typed} terminal ${place}--session ${sessionId}\n`;
    await new Promise<void>((resolve) => process.stdout.write(line, () => resolve()));
  }
  const exitCode = code === 0 ? EXIT.done : EXIT.interrupted;
  if (isRunning) process.exit(exitCode); // a tool that does not end keeps nobody: what is acknowledged is on disk
  return exitCode;
}

type Opening = {
  readonly name: string;
  readonly config: Config | undefined;
  readonly flags: TerminalFlags;
  readonly look: TerminalLook;
  readonly sessionId: string | undefined;
  /** Later ones are chosen in the terminal: what the command line says of the agent does not hold for them. */
  readonly isFirst: boolean;
  /** Why another session could not be opened. */
  readonly problem?: string;
};

async function openOnce(opening: Opening): Promise<TerminalEnd> {
  const { config, flags, look } = opening;
  const engine = await openEngine(config);
  let runtime: Runtime | undefined;
  try {
    const folder = resolve(flags.cwd ?? ".");
    if ((await stat(folder).catch(() => undefined))?.isDirectory() !== true)
      throw new CapstanError("workspace-missing", `There is no folder ${folder}; name one with --cwd`);
    const known = await knownSession(engine, opening, folder);
    const root = known?.root ?? folder;
    const { agent, settings, plugins, definitions, notes, isDemo } = await agentFor(opening, known?.agent, root);
    runtime = await openAgent({ engine, agent, config, settings, plugins, onRequest: undefined });
    const { openTerminal } = await import("@capstan/tui");
    const own = [...(isDemo ? [NO_KEY] : []), ...(opening.problem === undefined ? [] : [opening.problem])];
    return await withSignals(runtime, () =>
      openTerminal({
        runtime: (runtime as Runtime).as({ id: "local", door: "terminal" }), // set above
        agent: agent.name,
        sessionId: known?.id,
        folder: root,
        mode: flags.mode ?? settings.permission?.mode ?? agent.permission.mode ?? "ask",
        model: typeof agent.model === "string" ? agent.model : agent.model.id,
        commands: slashCommands(agent, plugins, definitions),
        notes: [...notes.filter(({ verbose }) => !verbose).map(({ line }) => line), ...own],
        look,
        host: hostOf(agent, root),
      }),
    );
  } finally {
    await (runtime === undefined ? engine.close() : runtime.close({ graceMs: CLOSE_GRACE_MS }));
  }
}

const NO_KEY =
  "No model has a key here, so the scripted demo model answers: it knows only the demo project. Set a key such as ANTHROPIC_API_KEY, or choose another model with /model.";

type Known = { readonly id: string; readonly agent: string; readonly root: string | undefined };

async function knownSession(
  engine: Awaited<ReturnType<typeof openEngine>>,
  { sessionId, isFirst, flags }: Opening,
  folder: string,
): Promise<Known | undefined> {
  const summary =
    sessionId !== undefined
      ? await knownSummary(engine, sessionId)
      : isFirst && flags.continue === true
        ? (await engine.list({ limit: 500 }))
            .filter(({ parent, workspace }) => parent === undefined && workspace?.root === folder)
            .toSorted((a, b) => b.updatedAt - a.updatedAt)[0]
        : undefined;
  if (summary === undefined) return undefined;
  const created = await createdFact(engine, summary.sessionId);
  return { id: summary.sessionId, agent: summary.agent, root: created?.workspace?.root };
}

/** Without a key for the default model the demo model takes its place. */
async function agentFor(
  { config, flags, isFirst }: Opening,
  known: string | undefined,
  root: string,
): Promise<AgentSetUp & { readonly isDemo: boolean }> {
  const screen = newScreen();
  const settings = withSandbox(await readSettings(), flags.sandbox);
  const chosen = isFirst ? flags.model : undefined;
  const setUp = (model: string | undefined): Promise<AgentSetUp> =>
    setUpAgent({
      config,
      settings,
      name: known ?? (isFirst ? flags.agent : undefined),
      model,
      root,
      asks: true,
      askTrust: askTrust(screen, terminalLine(process.stdin, process.stderr)),
    });
  const first = await setUp(chosen);
  const { model } = first.agent;
  if (config !== undefined || chosen !== undefined || settings.model !== undefined || typeof model !== "string")
    return { ...first, isDemo: false };
  try {
    await resolveModel(model);
    return { ...first, isDemo: false };
  } catch (error) {
    if (!CapstanError.is(error, "model-key-missing")) throw error;
    const agent = Object.freeze({ ...first.agent, model: DEMO_MODEL });
    return { ...first, agent, isDemo: true };
  }
}

function hostOf(agent: Agent<unknown>, root: string): TerminalHost {
  return {
    title: (text) => inertLine(redactor(providerSecrets(process.env)).text(text), TITLE_LENGTH),
    models: async () => {
      const { usableModels } = await import("@capstan/models");
      const all = await usableModels();
      return all.flatMap(({ usable, model }) =>
        usable && model !== undefined ? [{ name: model, description: "" }] : [],
      );
    },
    checkModel: (model) => resolveModel(model),
    canOpen: ({ workspace, agent: of }) => of === agent.name && (workspace === undefined || workspace.root === root),
    keepTheme,
    attaches: agent.plugins.some(({ name }) => name === "attachments"),
  };
}

/** Told to end: the terminal is put back as it was, what is acknowledged is on the disk. */
async function withSignals<T>(runtime: Runtime, work: () => Promise<T>): Promise<T> {
  const leaveWith = (code: number) => (): void => {
    void runtime.close({ graceMs: CLOSE_GRACE_MS }).finally(() => process.exit(code));
  };
  const handlers = { SIGTERM: leaveWith(143), SIGHUP: leaveWith(129), SIGINT: leaveWith(EXIT.interrupted) } as const;
  for (const [signal, handler] of Object.entries(handlers)) process.on(signal, handler);
  try {
    return await work();
  } finally {
    for (const [signal, handler] of Object.entries(handlers)) process.off(signal, handler);
  }
}
