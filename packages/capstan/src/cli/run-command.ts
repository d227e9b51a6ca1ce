/** `capstan run`: one input to a session, followed to its end. */

import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import {
  type Agent,
  CapstanError,
  type Engine,
  type Json,
  type PermissionMode,
  redactor,
  type Run,
  type Runtime,
  type Schema,
  type Session,
} from "@capstan/core";
import type { Config } from "../config.ts";
import { providerSecrets } from "../open-runtime.ts";
import { chosenAgent, withRules } from "./agents.ts";
import { type AskPerson, askPerson } from "./ask-person.ts";
import { loadConfig } from "./config-file.ts";
import { EXIT, usage } from "./failure.ts";
import { followRun, watchFailures } from "./follow-run.ts";
import { inertLine } from "./inert.ts";
import { openAgent, openEngine, permissionOf } from "./open-agent.ts";
import { readPrompt } from "./prompt.ts";
import { refusals } from "./refusals.ts";
import { type Output, runView } from "./run-view.ts";
import { sayEnd } from "./say-end.ts";
import { readSchema } from "./schema-flag.ts";
import { type Screen, RUN_GOES_ON, screen as newScreen } from "./screen.ts";
import { readSettings, type Settings } from "./settings.ts";
import { terminalLine } from "./terminal-line.ts";

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
  /** The folder of a new session. */
  readonly folder: string;
  /** Of the session that is gone on with. */
  readonly mode: string | undefined;
  readonly screen: Screen;
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
  const settings = await readSettings();
  const folder = await existingFolder(flags.cwd ?? ".");
  const output = flags.schema === undefined ? undefined : await readSchema(flags.schema);
  const prompt = await readPrompt(argument ?? flags.prompt, process.stdin);
  const engine = await openEngine(config);
  try {
    const known = await knownSession(engine, flags);
    const chosen = await chosenAgent({
      config,
      name: known?.agent ?? flags.agent,
      model: flags.model,
      defaultModel: settings.model,
    });
    const prepared = { name, prompt, flags, output, config, settings, engine, folder, screen: newScreen(RUN_GOES_ON) };
    return await runPrepared({ ...prepared, agent: withRules(chosen, flags), mode: known?.mode });
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

/** The session that is gone on with, if there is one. */
async function knownSession(
  engine: Engine,
  { session, key, agent }: RunFlags,
): Promise<{ readonly agent: string; readonly mode: string } | undefined> {
  const summary =
    session === undefined ? key && (await engine.list({ key, limit: 1 }))[0] : await engine.summary(session);
  if (!summary) {
    if (session === undefined) return undefined;
    throw new CapstanError(
      "session-not-found",
      `There is no session ${JSON.stringify(session)}; "sessions list" shows those there are`,
    );
  }
  if (agent !== undefined && agent !== summary.agent) {
    throw usage(
      `The session of that key belongs to the agent ${JSON.stringify(summary.agent)}; leave --agent out or use another key`,
    );
  }
  for await (const fact of engine.read(summary.sessionId, { types: ["session.created"] })) {
    if (fact.type === "session.created") return { agent: summary.agent, mode: fact.mode };
  }
  return { agent: summary.agent, mode: "ask" };
}

async function existingFolder(path: string): Promise<string> {
  const folder = resolve(path);
  const found = await stat(folder).catch(() => undefined);
  if (found?.isDirectory() === true) return folder;
  const what = found === undefined ? "There is no folder" : "This is not a folder:";
  throw new CapstanError("workspace-missing", `${what} ${folder}; name one with --cwd`);
}

/** How asks are dealt with: by the person at the terminal, or by a refusal. */
function asking({ screen, flags, agent, config, settings, mode: known }: Prepared): {
  readonly mode: PermissionMode | undefined;
  readonly onRequest: AskPerson | undefined;
} {
  if (screen.asks) {
    return { mode: flags.mode, onRequest: askPerson(screen, terminalLine(process.stdin, process.stderr)) };
  }
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
  const { name, flags, config, settings, engine, agent, screen, folder } = prepared;
  const { mode, onRequest } = asking(prepared);
  const runtime = await openAgent({ engine, agent, config, settings, onRequest });
  try {
    const session = await openSession(prepared, runtime);
    const failures = watchFailures(engine, session.id);
    const run = await send(session, prepared, mode);
    const state = await session.state();
    const headless = !screen.asks && config?.onRequest === undefined;
    const rules = {
      agent,
      tools: [...(config?.plugins ?? []).flatMap((plugin) => plugin.tools ?? []), ...agent.tools],
      permission: permissionOf(config, settings),
      remembered: state.rules,
      mode: mode ?? "ask",
      root: state.workspace?.root ?? folder,
    };
    const end = await followRun(run, {
      name,
      runtime,
      screen,
      view: runView(flags.output, screen),
      failures,
      ...(headless && { refusals: refusals(rules) }),
      answers: config?.onRequest !== undefined ? "all" : screen.asks ? "person" : "none",
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
  const key = flags.key ?? (flags.idempotencyKey === undefined ? undefined : `run/${flags.idempotencyKey}`);
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
