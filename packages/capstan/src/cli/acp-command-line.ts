/** The command line of `acp`. */

import { type Command, Option } from "commander";
import type { Config } from "../config.ts";
import type { AcpFlags } from "./acp-command.ts";
import type { Confinement } from "./sandbox-setting.ts";

type Place = {
  readonly name: string;
  readonly config: Config | undefined;
  readonly act: (work: () => Promise<number>) => Promise<void>;
};

export function addAcp(program: Command, { name, config, act }: Place): void {
  const choices: readonly Confinement[] = ["required", "preferred", "off"];
  program
    .command("acp")
    .description("speaks the Agent Client Protocol over standard input and output, for an editor that starts it")
    .option("--agent <name>", "which agent")
    .option("--model <provider/name>", "which model")
    .option("--config <file>", "take agents from this module or JSON file")
    .option("--cwd <folder>", "the folder whose trusted settings and instructions count; default the current one")
    .addOption(new Option("--sandbox <confinement>", "whether programs run in a sandbox").choices(choices))
    .action((flags: AcpFlags) => act(async () => (await import("./acp-command.ts")).acpCommand(name, config, flags)));
}
