/** The command line of the terminal: what `capstan` without a command opens, with options for those who want some. */

import { type Command, Option } from "commander";
import type { PermissionMode } from "@capstan/core";
import type { Config } from "../config.ts";
import type { Confinement } from "./sandbox-setting.ts";
import type { TerminalFlags } from "./terminal-command.ts";

type Place = {
  readonly name: string;
  readonly config: Config | undefined;
  readonly act: (work: () => Promise<number>) => Promise<void>;
  readonly filled: (text: string) => string;
};

const MODES = Object.keys({ ask: true, "accept-edits": true, bypass: true, plan: true } satisfies Record<
  Exclude<PermissionMode, "never-ask">,
  true
>);

export function addTerminal(program: Command, { name, config, act, filled }: Place): void {
  const choices: readonly Confinement[] = ["required", "preferred", "off"];
  program
    .command("terminal")
    .description("opens the terminal, as the command without anything does")
    .option("--session <id>", "open this session", filled)
    .option("--continue", "open the session of this folder that changed last")
    .option("--agent <name>", "which agent", filled)
    .option("--model <provider/name>", "which model", filled)
    .addOption(new Option("--mode <mode>", "how calls are permitted").choices(MODES))
    .option("--theme <name>", "how it looks", filled)
    .option("--config <file>", "take agents from this module or JSON file", filled)
    .option("--cwd <folder>", "the folder to work in", filled)
    .option("--url <address>", "show the sessions of this server instead; its token is read from CAPSTAN_TOKEN", filled)
    .addOption(new Option("--sandbox <confinement>", "whether programs run in a sandbox").choices(choices))
    .action((flags: TerminalFlags) =>
      act(async () => (await import("./terminal-command.ts")).terminalCommand(name, config, flags)),
    );
}

/** Whether somebody sits in front of a terminal that can be drawn on. */
export function canOpenTerminal({ stdin, stdout, env }: Pick<NodeJS.Process, "stdin" | "stdout" | "env">): boolean {
  return stdin.isTTY === true && stdout.isTTY === true && env["TERM"] !== "dumb";
}
