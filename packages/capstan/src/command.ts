/** capstan/command: a command of one's own, with agents that are built in. */

import { runProgram } from "./cli/program.ts";
import type { Config } from "./config.ts";

export type CommandOptions = {
  /** What the command is called in help and messages. */
  readonly name: string;
  /** Default: those of this process. */
  readonly arguments?: readonly string[];
};

/** Runs the command line and sets `process.exitCode`. Resolves when the work is done; never throws for what went wrong. */
export async function command(config: Config, { name, arguments: given }: CommandOptions): Promise<void> {
  process.exitCode = await runProgram(given ?? process.argv.slice(2), { name, config });
}
