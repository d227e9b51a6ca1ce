/** `capstan run`: one input to a session, followed to its end. */

import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import {
  type Agent,
  CapstanError,
  type Engine,
  type Json,
  type PermissionMode,
  type Plugin,
  redactor,
  type Run,
  type Runtime,
  type Schema,
  type Session,
} from "@capstan/core";
import type { Config } from "../config.ts";
import { providerSecrets } from "../open-runtime.ts";
import { toolsFor } from "./agents.ts";
import { type AskPerson, askPerson } from "./ask-person.ts";
import { loadConfig } from "./config-file.ts";
import { EXIT, usage } from "./failure.ts";
import { answersHere, followRun, watchFailures } from "./follow-run.ts";
import { inertLine } from "./inert.ts";
import { openAgent, openEngine, permissionOf } from "./open-agent.ts";
import { readPrompt } from "./prompt.ts";
import { refusals } from "./refusals.ts";
import { type Output, runView } from "./run-view.ts";
import { sayEnd } from "./say-end.ts";
import { readSchema } from "./schema-flag.ts";
import { type Confinement, withSandbox } from "./sandbox-setting.ts";
import { type Screen, RUN_GOES_ON, screen as newScreen } from "./screen.ts";
import { sayNotes, setUpAgent } from "./set-up-agent.ts";
import { readSettings, type Settings } from "./settings.ts";
import { createdFact, hasQuestion, knownSummary } from "./stored-sessions.ts";
import { type LineReader, terminalLine } from "./terminal-line.ts";
import { askTrust } from "./trust-command.ts";

export type RunFlags = {
  readonly prompt?: string;
  readonly session?: string;
  readonly key?: string;
  readonly idempotencyKey?: string;
  readonly agent?: string;
  readonly model?: string;
  readonly maxUsd?: number;
  readonly maxTurns?: number;
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly mode?: PermissionMode;
  readonly config?: string;
  readonly output: Output;
  readonly cwd?: string;
  /** A file, or the schema itself. */
  readonly schema?: string;
  readonly sandbox?: Confinement;
  readonly verbose?: boolean;
};

type Prepared = {
  readonly name: string;
  readonly prompt: string;
  readonly flags: RunFlags;
  /** What the answer must be. */
  readonly output: Schema<Json> | undefined;
  readonly config: Config | undefined;
  readonly settings: Settings;
  readonly engine: Engine;
  readonly agent: Agent<unknown>;
  readonly plugins: readonly Plugin[];
  /** The folder of a new session. */
  readonly folder: string;
  /** Of the session that is gone on with. */
  readonly mode: string | undefined;
  readonly screen: Screen;
  /** Where a person can be asked. */
  readonly readLine: LineReader | undefined;
};

const TITLE_LENGTH = 60;

/** Returns the exit code. */
export async function runCommand(
  name: string,
  given: Config | undefined,
  argument: string | undefined,
  flags: RunFlags,
): Promise<number> {
  checkFlags(argument, flags);
  const config = flags.config === undefined ? given : await loadConfig(flags.config);
  const read = withSandbox(await readSettings(), flags.sandbox);
  const folder = await existingFolder(flags.cwd ?? ".");
  const output = flags.schema === undefined ? undefined : await readSchema(flags.schema);
  const prompt = await readPrompt(argument ?? flags.prompt, process.stdin);
  const screen = newScreen(RUN_GOES_ON);
  const readLine = screen.asks ? terminalLine(process.stdin, process.stderr) : undefined;
  const engine = await openEngine(config);
  try {
    const known = await knownSession(engine, flags);
    const { agent, settings, plugins, notes } = await setUpAgent({
      config,
      settings: read,
      name: known?.agent ?? flags.agent,
      model: flags.model,
      root: known?.root ?? (await rootOfJob(engine, flags)) ?? folder,
      asks: (readLine !== undefined && flags.mode !== "never-ask") || known?.hasQuestion === true,
      askTrust: askTrust(screen, readLine),
      rules: flags,
    });
    sayNotes(screen, notes, flags.verbose === true);
    const prepared = { name, prompt, flags, output, config, settings, engine, folder, screen, readLine };
    return await runPrepared({ ...prepared, agent, plugins, mode: known?.mode });
  } catch (error) {
    await engine.close();
    throw withoutKey(name, error);
  }
}

function checkFlags(argument: string | undefined, { prompt, session, key, agent, cwd }: RunFlags): void {
  if (argument !== undefined && prompt !== undefined) throw usage("There are two prompts; give one");
  if (session === undefined) return;
  if (key !== undefined) throw usage("--session and --key both name a session; give one");
  if (agent !== undefined) throw usage("A session keeps its agent; leave --agent out");
  if (cwd !== undefined) throw usage("A session keeps its folder; leave --cwd out");
}

type KnownSession = {
  readonly agent: string;
  readonly mode: string;
  readonly root?: string | undefined;
  /** The model has asked something that is still open. */
  readonly hasQuestion: boolean;
};

/** The session that is gone on with, if there is one. */
async function knownSession(engine: Engine, { session, key, agent }: RunFlags): Promise<KnownSession | undefined> {
  const summary =
    session === undefined ? key && (await engine.list({ key, limit: 1 }))[0] : await knownSummary(engine, session);
  if (!summary) return undefined;
  const created = await createdFact(engine, summary.sessionId);
  if (agent !== undefined && agent !== summary.agent && agent !== created?.agent) {
    throw usage(
      `The session of that key belongs to the agent ${JSON.stringify(summary.agent)}; leave --agent out or use another key`,
    );
  }
  const { mode = "ask", workspace } = created ?? {};
  return { agent: summary.agent, mode, root: workspace?.root, hasQuestion: hasQuestion(summary) };
}

/** The folder of a job that was begun before, under the same idempotency key. */
async function rootOfJob(engine: Engine, { session, key, idempotencyKey }: RunFlags): Promise<string | undefined> {
  if (session !== undefined || key !== undefined || idempotencyKey === undefined) return undefined;
  const [summary] = await engine.list({ key: jobKey(idempotencyKey), limit: 1 });
  return summary && (await createdFact(engine, summary.sessionId))?.workspace?.root;
}

function jobKey(idempotencyKey: string): string {
  return `run/${idempotencyKey}`;
}

async function existingFolder(path: string): Promise<string> {
  const folder = resolve(path);
  const found = await stat(folder).catch(() => undefined);
  if (found?.isDirectory() === true) return folder;
  const what = found === undefined ? "There is no folder" : "This is not a folder:";
  throw new CapstanError("workspace-missing", `${what} ${folder}; name one with --cwd`);
}

/** How asks are dealt with: by the person at the terminal, or by a refusal. */
function asking({ screen, readLine, flags, agent, config, settings, mode: known }: Prepared): {
  readonly mode: PermissionMode | undefined;
  readonly onRequest: AskPerson | undefined;
} {
  if (readLine !== undefined) return { mode: flags.mode, onRequest: askPerson(screen, readLine) };
  if (config?.onRequest !== undefined) return { mode: flags.mode, onRequest: undefined };
  const mode = flags.mode ?? known ?? permissionOf(config, settings).mode ?? agent.permission.mode ?? "ask";
  if (mode === "ask" || mode === "never-ask") return { mode: "never-ask", onRequest: undefined };
  const deny: AskPerson = async ({ body }) =>
    body.type === "permission" || body.type === "plan"
      ? { type: body.type, allow: false, reason: "nobody can be asked" }
      : undefined;
  return { mode: mode as PermissionMode, onRequest: deny }; // an unknown word of an old session means `ask` to the loop
}

async function runPrepared(prepared: Prepared): Promise<number> {
  const { name, flags, config, settings, plugins, engine, agent, screen, folder } = prepared;
  const { mode, onRequest } = asking(prepared);
  const runtime = await openAgent({ engine, agent, config, settings, plugins, onRequest });
  try {
    const session = await openSession(prepared, runtime);
    const failures = watchFailures(engine, session.id);
    const run = await send(session, prepared, mode);
    const state = await session.state();
    const headless = !screen.asks && config?.onRequest === undefined;
    const rules = {
      agent,
      tools: toolsFor(config, agent),
      permission: permissionOf(config, settings),
      remembered: state.rules,
      mode: mode ?? "ask",
      root: state.workspace?.root ?? folder,
    };
    const end = await followRun(run, {
      name,
      runtime,
      screen,
      view: runView(flags.output, screen, { verbose: flags.verbose === true }),
      failures,
      ...(headless && { refusals: refusals(rules) }),
      answers: answersHere(config, screen),
    });
    failures.end();
    sayEnd(name, end, flags.output, screen);
    await screen.flush();
    return end.exitCode === EXIT.done && screen.failed ? EXIT.failed : end.exitCode;
  } finally {
    await runtime.close();
  }
}

function openSession({ flags, agent, folder, prompt }: Prepared, runtime: Runtime): Promise<Session<unknown>> {
  if (flags.session !== undefined) return runtime.session(flags.session);
  const key = flags.key ?? (flags.idempotencyKey === undefined ? undefined : jobKey(flags.idempotencyKey));
  const title = inertLine(redactor(providerSecrets(process.env)).text(prompt), TITLE_LENGTH); // before it is cut: half a key is found by nobody
  return runtime.session({ agent: agent.name, workspace: folder, title, ...(key !== undefined && { key }) });
}

function send(
  session: Session<unknown>,
  { flags, prompt, output }: Prepared,
  mode: PermissionMode | undefined,
): Promise<Run<unknown>> {
  const { maxUsd, maxTurns, model, idempotencyKey } = flags;
  const limits = {
    ...(maxUsd !== undefined && { microUsd: Math.round(maxUsd * 1_000_000) }),
    ...(maxTurns !== undefined && { turns: maxTurns }),
  };
  const options = {
    ...(mode !== undefined && { mode }),
    ...(model !== undefined && { model }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
  return output === undefined ? session.send(prompt, options) : session.send(prompt, { ...options, output });
}

/** Without a key there is still something to see. */
function withoutKey(name: string, error: unknown): unknown {
  if (!CapstanError.is(error, "model-key-missing")) return error;
  const message = `${error.message} Or name another model with --model; "${name} demo" needs no key`;
  return new CapstanError("model-key-missing", message, { cause: error });
}
