/** Gives a test run or an example its own home and no provider keys, so that results do not depend on the machine. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FOREIGN = /^(ANTHROPIC|OPENAI|GEMINI|GOOGLE|OPENROUTER|CEREBRAS|GROQ|DEEPSEEK|OLLAMA|VLLM|OTEL|CAPSTAN|XDG)_/;
/** Servers that somebody started for these tests. */
const KEPT: ReadonlySet<string> = new Set(["CAPSTAN_POSTGRES_URL", "CAPSTAN_RESTATE_SERVER"]);

export interface HermeticEnv {
  readonly env: Readonly<Record<string, string>>;
  /** Removes the temporary home. */
  readonly close: () => void;
}

/** The given environment without what it says about the user, with a temporary `HOME` and `CAPSTAN_HOME`, and compiled code kept there. */
export function hermeticEnv(from: NodeJS.ProcessEnv): HermeticEnv {
  const home = mkdtempSync(join(tmpdir(), "capstan-home-"));
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(from)) {
    if (value !== undefined && (KEPT.has(name) || !FOREIGN.test(name))) env[name] = value;
  }
  env["HOME"] = home;
  env["USERPROFILE"] = home;
  env["CAPSTAN_HOME"] = join(home, ".capstan");
  env["NODE_COMPILE_CACHE"] = join(home, "compiled"); // its many processes compile the same code
  return { env, close: () => rmSync(home, { recursive: true, force: true, maxRetries: 3 }) };
}

/** Vitest calls this once before it starts its workers, which inherit the environment. */
export function setup(): () => void {
  const { env, close } = hermeticEnv(process.env);
  for (const name of Object.keys(process.env)) {
    if (!(name in env)) Reflect.deleteProperty(process.env, name);
  }
  Object.assign(process.env, env);
  process.once("exit", close); // a worker may write its compiled code after the run is over
  return close;
}
