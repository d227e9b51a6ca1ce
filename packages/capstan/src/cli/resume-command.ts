/** `capstan resume`: drives what was left unfinished to its end, or to where it waits for a person. */

import { CapstanError, type Engine, type Run, type Session, type SessionSummary } from "@capstan/core";
import type { Config } from "../config.ts";
import { chosenAgent } from "./agents.ts";
import { askPerson } from "./ask-person.ts";
import { loadConfig } from "./config-file.ts";
import { EXIT, reportFailure } from "./failure.ts";
import { type Failures, followRun, watchFailures } from "./follow-run.ts";
import { inertLine } from "./inert.ts";
import { openAgent, openEngine } from "./open-agent.ts";
import { runView } from "./run-view.ts";
import { sayEnd } from "./say-end.ts";
import { type Screen, RUN_GOES_ON, screen as newScreen } from "./screen.ts";
import { readSettings, type Settings } from "./settings.ts";
import { terminalLine } from "./terminal-line.ts";
import { unfinished } from "./unfinished.ts";

/** How long an input may take from the mailbox into the log. */
const MAIL_MS = 10_000;

type Resuming = {
  readonly name: string;
  readonly config: Config | undefined;
  readonly settings: Settings;
  readonly screen: Screen;
};

/** Returns the exit code of the first session that did not end well. */
export async function resumeCommand(
  name: string,
  given: Config | undefined,
  id: string | undefined,
  flags: { readonly config?: string },
): Promise<number> {
  const config = flags.config === undefined ? given : await loadConfig(flags.config);
  const resuming: Resuming = { name, config, settings: await readSettings(), screen: newScreen(RUN_GOES_ON) };
  const { free, elsewhere } = await unfinished(config, id);
  const { screen } = resuming;
  for (const { sessionId } of elsewhere) screen.note(`Another process is at work on ${sessionId}; it is left alone.`);
  if (free.length === 0 && elsewhere.length === 0)
    screen.note(id === undefined ? "Nothing is unfinished." : `Session ${id} is not unfinished.`);
  let exitCode: number = EXIT.done;
  for (const session of free) {
    const code = await resumeOne(resuming, session).catch((error: unknown) => reportFailure(name, error));
    if (exitCode === EXIT.done) exitCode = code;
    if (code === EXIT.interrupted) break;
  }
  await screen.flush();
  return exitCode;
}

async function resumeOne(
  resuming: Resuming,
  { sessionId, agent: agentName, title, head }: SessionSummary,
): Promise<number> {
  const { name, config, settings, screen } = resuming;
  const engine = await openEngine(config);
  const model = await modelOf(engine, sessionId);
  const agent = await chosenAgent({ config, name: agentName, model, defaultModel: settings.model }).catch(
    async (error: unknown) => {
      await engine.close();
      throw CapstanError.is(error, "agent-unknown")
        ? new CapstanError("agent-unknown", `Session ${sessionId}: ${error.message}`)
        : error;
    },
  );
  const onRequest = screen.asks ? askPerson(screen, terminalLine(process.stdin, process.stderr)) : undefined;
  const failures = watchFailures(engine, sessionId);
  const runtime = await openAgent({ engine, agent, config, settings, onRequest });
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
      const answers = config?.onRequest !== undefined ? "all" : screen.asks ? "person" : "none";
      const end = await followRun(run, {
        name,
        runtime,
        screen,
        view: runView("text", screen, known),
        failures,
        answers,
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
