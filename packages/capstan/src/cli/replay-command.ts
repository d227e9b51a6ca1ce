/** `capstan policy replay`: what the rules of today would say of the calls that a session has made. */

import type { Fact, PermissionMode } from "@capstan/core";
import type { Config } from "../config.ts";
import { toolsFor } from "./agents.ts";
import { EXIT } from "./failure.ts";
import { inertLine } from "./inert.ts";
import { permissionOf } from "./open-agent.ts";
import { replayPolicy } from "./policy-replay.ts";
import { setUpAgent } from "./set-up-agent.ts";
import { readSettings } from "./settings.ts";
import { knownSummary, withEngine } from "./stored-sessions.ts";

export type ReplayFlags = {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly mode?: PermissionMode;
  readonly all?: boolean;
  readonly json?: boolean;
};

/** Runs nothing and changes nothing. */
export function replayCommand(config: Config | undefined, id: string, flags: ReplayFlags): Promise<number> {
  return withEngine(config, async (engine, screen) => {
    const { agent: name } = await knownSummary(engine, id);
    const facts: Fact[] = [];
    for await (const fact of engine.read(id)) facts.push(fact);
    const [first] = facts;
    const { agent, settings } = await setUpAgent({
      config,
      settings: await readSettings(),
      name,
      root: first?.type === "session.created" ? first.workspace?.root : undefined,
      asks: true,
      rules: flags,
    });
    const calls = await replayPolicy(facts, {
      tools: toolsFor(config, agent),
      agent: agent.permission,
      global: permissionOf(config, settings),
      mode: flags.mode,
    });
    const differing = calls.filter(({ before, now }) => before !== now);
    for (const call of flags.all === true ? calls : differing) {
      const { tool, input, before, now, reason } = call;
      const verdict = before === now ? now : `${before} -> ${now}`;
      const line = `${verdict}  ${tool} ${inertLine(JSON.stringify(input), 100)}: ${inertLine(reason)}`;
      screen.data(flags.json === true ? JSON.stringify(call) : line);
    }
    screen.note(`${differing.length} of ${calls.length} calls would be judged otherwise`);
    return EXIT.done;
  });
}
