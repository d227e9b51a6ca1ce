/** `capstan resume`: drives what was left unfinished to its end, or to where it waits for a person. */

import { CapstanError, type Engine, type Run, type Session, type SessionSummary } from "@capstan/core";
import type { Config } from "../config.ts";
import { chosenAgent } from "./agents.ts";
import { askPerson } from "./ask-person.ts";
import { loadConfig } from "./config-file.ts";
import { EXIT, reportFailure } from "./failure.ts";
import { followRun, watchFailures } from "./follow-run.ts";
import { inertLine } from "./inert.ts";
import { openAgent, openEngine } from "./open-agent.ts";
import { sayEnd } from "./run-command.ts";
import { runView } from "./run-view.ts";
import { type Screen, RUN_GOES_ON, screen as newScreen } from "./screen.ts";
import { readSettings, type Settings } from "./settings.ts";
import { terminalLine } from "./terminal-line.ts";

type Resuming = { readonly name: string; readonly config: Config | undefined; readonly settings: Settings; readonly screen: Screen };

/** Returns the exit code of the first session that did not end well. */
export async function resumeCommand(name: string, given: Config | undefined, id: string | undefined, flags: { readonly config?: string }): Promise<number> {
  const config = flags.config === undefined ? given : await loadConfig(flags.config);
  const resuming: Resuming = { name, config, settings: await readSettings(), screen: newScreen(RUN_GOES_ON) };
  const sessions = await unfinished(config, id);
  if (sessions.length === 0) resuming.screen.note(id === undefined ? "Nothing is unfinished." : `Session ${id} is not unfinished.`);
  let exitCode: number = EXIT.done;
  for (const session of sessions) {
    const code = await resumeOne(resuming, session).catch((error: unknown) => reportFailure(name, error));
    if (exitCode === EXIT.done) exitCode = code;
    if (code === EXIT.interrupted) break;
  }
  await resuming.screen.flush();
  return exitCode;
}

/** Oldest first. Children are driven with their parents. */
async function unfinished(config: Config | undefined, id: string | undefined): Promise<readonly SessionSummary[]> {
  const engine = await openEngine(config);
  try {
    if (id === undefined) {
      const all = await engine.list({});
      return all.filter((summary) => isUnfinished(summary) && summary.parent === undefined).toReversed();
    }
    const summary = await engine.summary(id);
    if (summary === undefined) throw new CapstanError("session-not-found", `There is no session ${JSON.stringify(id)}; "sessions list" shows those there are`);
    if (summary.status === "quarantined") throw new CapstanError("session-damaged", `Session ${id} is damaged; it can be shown, exported and deleted`);
    return isUnfinished(summary) ? [summary] : [];
  } finally {
    await engine.close();
  }
}

function isUnfinished({ status, queued }: SessionSummary): boolean {
  return status === "running" || status === "waiting" || status === "parked" || (status === "idle" && queued > 0);
}

async function resumeOne(resuming: Resuming, { sessionId, agent: agentName, title, head }: SessionSummary): Promise<number> {
  const { name, config, settings, screen } = resuming;
  const engine = await openEngine(config);
  const model = await modelOf(engine, sessionId);
  const agent = await chosenAgent({ config, name: agentName, model, defaultModel: settings.model }).catch(async (error: unknown) => {
    await engine.close();
    throw CapstanError.is(error, "agent-unknown") ? new CapstanError("agent-unknown", `Session ${sessionId}: ${error.message}`) : error;
  });
  const onRequest = screen.asks ? askPerson(screen, terminalLine(process.stdin, process.stderr)) : undefined;
  const failures = watchFailures(engine, sessionId);
  const runtime = await openAgent({ engine, agent, config, settings, onRequest });
  try {
    const session = await runtime.session(sessionId);
    let known = head;
    screen.note(`Going on with ${sessionId}${title === undefined ? "" : `: ${inertLine(title, 60)}`}`, "bold");
    let exitCode: number = EXIT.done;
    for (let run = await unfinishedRun(session); run !== undefined && exitCode === EXIT.done; run = await unfinishedRun(session)) {
      const answers = config?.onRequest !== undefined ? "all" : screen.asks ? "person" : "none";
      const end = await followRun(run, { name, runtime, screen, view: runView("text", screen, known), failures, answers });
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

async function unfinishedRun(session: Session<unknown>): Promise<Run<unknown> | undefined> {
  const { run, queue } = await session.state();
  const id = run?.id ?? queue[0]?.runId;
  return id === undefined ? undefined : session.run(id);
}
