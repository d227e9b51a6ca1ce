/** `capstan demo`: a broken project, repaired by a scripted model with real tools, in a real session. */

import { spawnSync } from "node:child_process";
import { CapstanError } from "@capstan/core";
import { openLocalEngine } from "../open-runtime.ts";
import { DEMO_AGENT, demoAgent } from "./demo-agent.ts";
import { makeDemoProject } from "./demo-project.ts";
import { EXIT } from "./failure.ts";
import { followRun, watchFailures } from "./follow-run.ts";
import { openAgent } from "./open-agent.ts";
import { runView } from "./run-view.ts";
import { sayEnd } from "./say-end.ts";
import { type Screen, RUN_GOES_ON, screen as newScreen } from "./screen.ts";

const PROMPT = "Some tests of this project fail. Find out why, repair the code and run the tests again.";
/** Pause after a word of the model, for people who watch. */
const WORD_MS = 25;

/** Ends with 0 only when the tests of the project pass. */
export async function demoCommand(name: string): Promise<number> {
  const screen = newScreen(RUN_GOES_ON);
  const { findBash } = await import("@capstan/tools/shell");
  if (findBash() === undefined)
    throw new CapstanError("process-failed", "The demo runs tests in bash and finds none; install bash and try again");
  const agent = await demoAgent(screen.live ? WORD_MS : 0);
  const engine = await openLocalEngine();
  const runtime = await openAgent({ engine, agent, config: undefined, settings: {}, onRequest: undefined });
  try {
    const folder = await makeDemoProject();
    const session = await runtime.session({
      agent: DEMO_AGENT,
      workspace: folder,
      title: "The demo: repair a small project",
      mode: "never-ask",
    });
    introduce(screen, folder);
    const failures = watchFailures(engine, session.id);
    const run = await session.send(PROMPT);
    const end = await followRun(run, {
      name,
      runtime,
      screen,
      view: runView("text", screen),
      failures,
      answers: "none",
    });
    failures.end();
    sayEnd(name, end, "json", screen); // its own last words follow
    if (end.exitCode !== EXIT.done) return end.exitCode;
    return conclude(name, screen, { folder, sessionId: session.id });
  } finally {
    await runtime.close();
    await screen.flush();
  }
}

function introduce(screen: Screen, folder: string): void {
  screen.note("Capstan demo: a scripted demo model, no network. The tools, the files and the tests are real.", "bold");
  screen.note(`  project  ${folder}`, "dim");
  screen.note(`  task     ${PROMPT}`, "dim");
  screen.note("");
}

/** The tests once more, by us: the model's word is not the proof. */
function conclude(
  name: string,
  screen: Screen,
  { folder, sessionId }: { readonly folder: string; readonly sessionId: string },
): number {
  const { status } = spawnSync(process.execPath, ["--test"], { cwd: folder, stdio: "ignore", env: plainEnv() });
  screen.note("");
  if (status !== 0) {
    screen.note(
      `${name}: The tests of ${folder} do not pass after the demo; see "${name} sessions show ${sessionId}" (run-failed)`,
      "red",
    );
    return EXIT.failed;
  }
  screen.note("Checked: the tests pass. That was the scripted demo model, no network.", "bold");
  screen.note(`  the project       ${folder}`, "dim");
  const typed = "npm_command" in process.env ? `npx ${name}` : name; // npm started it: it may not be on the PATH
  screen.note(`  what happened     ${typed} sessions show ${sessionId}`, "dim");
  screen.note(`  with a real model set ANTHROPIC_API_KEY, then: ${typed} run "..."`, "dim");
  return EXIT.done;
}

/** Without what tells Node's test runner that it runs inside another one. */
function plainEnv(): NodeJS.ProcessEnv {
  const { NODE_TEST_CONTEXT: _context, NODE_OPTIONS: _options, ...env } = process.env;
  return env;
}
