/** `capstan sessions usage`: how tools were used, over stored sessions. */

import { CapstanError } from "@capstan/core";
import { toolUsage, type ToolUse } from "@capstan/plugins/tool-usage";
import type { Config } from "../config.ts";
import { EXIT } from "./failure.ts";
import { inertLine } from "./inert.ts";
import { knownSummary, withEngine } from "./stored-sessions.ts";
import { tableLines } from "./table-lines.ts";

export type UsageFlags = { readonly limit: number; readonly json?: boolean };

export function usageCommand(config: Config | undefined, id: string | undefined, flags: UsageFlags): Promise<number> {
  return withEngine(config, async (engine, screen) => {
    const sessions = id === undefined ? await engine.list({ limit: flags.limit }) : [await knownSummary(engine, id)];
    const usage = toolUsage();
    let damaged = 0;
    for (const { sessionId } of sessions) {
      try {
        for await (const fact of engine.read(sessionId)) usage.add(fact);
      } catch (error) {
        if (!CapstanError.is(error, "session-damaged", "session-not-found")) throw error;
        damaged += 1;
      }
    }
    const uses = usage.report();
    if (flags.json === true) for (const use of uses) screen.data(JSON.stringify(use));
    else for (const line of tableLines([HEAD, ...uses.map(row)])) screen.data(line);
    screen.note(`${sessions.length} sessions${damaged === 0 ? "" : `, of which ${damaged} can only be read in part`}`);
    return EXIT.done;
  });
}

const HEAD = ["AGENT", "TOOL", "CALLS", "OK", "FAILED", "DENIED", "ASKED", "REPEATED", "P50 MS", "P95 MS", "OUTPUT"];

function row({
  agent,
  tool,
  calls,
  ends,
  asked,
  repeated,
  p50Ms,
  p95Ms,
  outputCharacters,
}: ToolUse): readonly string[] {
  const { ok = 0, denied = 0, ...others } = ends;
  const failed = Object.values(others).reduce((sum, count) => sum + count, 0);
  const numbers = [calls, ok, failed, denied, asked, repeated, p50Ms, p95Ms, outputCharacters];
  return [inertLine(agent, 20), inertLine(tool, 40), ...numbers.map(String)];
}
