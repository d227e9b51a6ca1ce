/** `capstan resume`: drives what was left unfinished to its end, or to where it waits for a person. */

import { CapstanError, type Engine, type Run, type Session, type SessionSummary } from "@capstan/core";
import type { Config } from "../config.ts";
import { askPerson } from "./ask-person.ts";
import { loadConfig } from "./config-file.ts";
import { EXIT, reportFailure } from "./failure.ts";
import { answersHere, type Failures, followRun, watchFailures } from "./follow-run.ts";
import type { AskTrust } from "./folder-trust.ts";
import { inertLine } from "./inert.ts";
import { openAgent, openEngine } from "./open-agent.ts";
import { runView } from "./run-view.ts";
import { sayEnd } from "./say-end.ts";
import { type Confinement, withSandbox } from "./sandbox-setting.ts";
import { type Screen, RUN_GOES_ON, screen as newScreen } from "./screen.ts";
import { type AgentSetUp, sayNotes, setUpAgent } from "./set-up-agent.ts";
import { readSettings, type Settings } from "./settings.ts";
import { createdFact, hasQuestion } from "./stored-sessions.ts";
import { type LineReader, terminalLine } from "./terminal-line.ts";
import { askTrust } from "./trust-command.ts";
import { unfinished } from "./unfinished.ts";

/** How long an input may take from the mailbox into the log. */
const MAIL_MS = 10_000;

export type ResumeFlags = { readonly config?: string; readonly sandbox?: Confinement; readonly verbose?: boolean };

type Resuming = {
  readonly name: string;
  readonly config: Config | undefined;
  readonly settings: Settings;
  readonly screen: Screen;
  readonly verbose: boolean;
  /** Where a person can be asked. */
  readonly readLine: LineReader | undefined;
  readonly askTrust: AskTrust | undefined;
};

/** Returns the exit code of the first session that did not end well. */
export async function resumeCommand(
  name: string,
  given: Config | undefined,
  id: string | undefined,
  flags: ResumeFlags,
): Promise<number> {
  const config = flags.config === undefined ? given : await loadConfig(flags.config);
  const settings = withSandbox(await readSettings(), flags.sandbox);
  const screen = newScreen(RUN_GOES_ON);
  const readLine = screen.asks ? terminalLine(process.stdin, process.stderr) : undefined;
  const resuming: Resuming = {
    name,
    config,
    settings,
    screen,
    verbose: flags.verbose === true,
    readLine,
    askTrust: askTrust(screen, readLine),
  };
  const { free, elsewhere } = await unfinished(config, id);
  for (const { sessionId } of elsewhere) screen.note(`Another process is at work on ${sessionId}; it is left alone.`);
  if (free.length === 0 && elsewhere.length === 0)
    screen.note(id === undefined ? "Nothing is unfinished." : `Session ${id} is not unfinished.`);
  let exitCode: number = EXIT.done;
  for (const session of free) {
    const code = await resumeOne(resuming, session).catch((error: unknown) =>
      reportFailure(name, ofSession(session.sessionId, error)),
    );
    if (exitCode === EXIT.done) exitCode = code;
    if (code === EXIT.interrupted) break;
  }
  await screen.flush();
  return exitCode;
}

/** Which of several it was. */
function ofSession(id: string, error: unknown): unknown {
  if (!CapstanError.is(error) || error.message.includes(id)) return error;
  return new CapstanError(error.code, `Session ${id}: ${error.message}`, { cause: error });
}

async function resumeOne(resuming: Resuming, summary: SessionSummary): Promise<number> {
  const { name, config, screen, readLine, verbose } = resuming;
  const { sessionId, title, head } = summary;
  const engine = await openEngine(config);
  const setUp = await setUpOf(resuming, engine, summary).catch(async (error: unknown) => {
    await engine.close();
    throw error;
  });
  const { agent, settings, plugins, notes } = setUp;
  sayNotes(screen, notes, verbose);
  const onRequest = readLine && askPerson(screen, readLine);
  const failures = watchFailures(engine, sessionId);
  const runtime = await openAgent({ engine, agent, config, settings, plugins, onRequest });
  try {
    const session = await runtime.session(sessionId);
    let known = head;
    screen.note(`Going on with ${sessionId}${title === undefined ? "" : `: ${inertLine(title, 60)}`}`, "bold");
    let exitCode: number = EXIT.done;
    for (
      let run = await firstRun(session, engine, failures);
      run !== undefined && exitCode === EXIT.done;
      run = await unfinishedRun(session)
    ) {
      const end = await followRun(run, {
        name,
        runtime,
        screen,
        view: runView("text", screen, { after: known, verbose }),
        failures,
        answers: answersHere(config, screen),
      });
      sayEnd(name, end, "text", screen);
      exitCode = end.exitCode;
      known = 0;
    }
    return exitCode;
  } finally {
    failures.end();
    await runtime.close();
  }
}

async function setUpOf(
  { config, settings, readLine, askTrust: ask }: Resuming,
  engine: Engine,
  summary: SessionSummary,
): Promise<AgentSetUp> {
  const { sessionId, agent } = summary;
  const created = await createdFact(engine, sessionId);
  return setUpAgent({
    config,
    settings,
    name: agent,
    model: await modelOf(engine, sessionId),
    root: created?.workspace?.root,
    asks: readLine !== undefined || hasQuestion(summary),
    askTrust: ask,
  });
}

/** The model that the unfinished input named. */
async function modelOf(engine: Engine, sessionId: string): Promise<string | undefined> {
  let model: string | undefined;
  for await (const fact of engine.read(sessionId, { types: ["session.updated", "input.accepted"] })) {
    if (fact.type === "session.updated" && fact.model !== undefined) model = fact.model;
    if (fact.type === "input.accepted" && fact.overrides?.model !== undefined) model = fact.overrides.model;
  }
  return model;
}

/** The unfinished run; of an input that no process has moved into the log yet, the run that it starts. */
async function firstRun(
  session: Session<unknown>,
  engine: Engine,
  failures: Failures,
): Promise<Run<unknown> | undefined> {
  const known = await unfinishedRun(session);
  if (known !== undefined) return known;
  const { head } = await session.state();
  const stop = AbortSignal.timeout(MAIL_MS);
  const arrived = async (): Promise<Run<unknown> | undefined> => {
    for await (const { event } of engine.events(session.id, { after: String(head), signal: stop })) {
      if (event.type === "input.accepted" && event.runId !== undefined) return session.run(event.runId);
    }
    return undefined;
  };
  return Promise.race([arrived(), failures.first]);
}

async function unfinishedRun(session: Session<unknown>): Promise<Run<unknown> | undefined> {
  const { run, queue } = await session.state();
  const id = run?.id ?? queue[0]?.runId;
  return id === undefined ? undefined : session.run(id);
}
