/** The command lines of the doors, `serve` and `stdio`, and of `work`, which drives sessions without one. */

import { type Command, InvalidArgumentError, Option } from "commander";
import type { Config } from "../config.ts";
import type { Confinement } from "./sandbox-setting.ts";
import type { ServeFlags } from "./serve-command.ts";
import type { DoorFlags } from "./serve-command-runtime.ts";

type Place = {
  readonly name: string;
  readonly config: Config | undefined;
  readonly act: (work: () => Promise<number>) => Promise<void>;
};

const PORT = 4310;

export function addServe(program: Command, { name, config, act }: Place): void {
  withAgent(program.command("serve"))
    .description("serves sessions over HTTP, to whoever brings the token")
    .option("--host <address>", "the address to listen on", "127.0.0.1")
    .option("--port <number>", "the port to listen on; 0 takes a free one", portOf, PORT)
    .option("--allow-host <name>", "answer to this name too; may be repeated", collect, [])
    .option("--allow-origin <origin>", "let pages of this origin in; may be repeated", collect, [])
    .action((flags: ServeFlags) =>
      act(async () => (await import("./serve-command.ts")).serveCommand(name, config, flags)),
    );
}

export function addStdio(program: Command, { name, config, act }: Place): void {
  withAgent(program.command("stdio"))
    .description("speaks NDJSON over standard input and output, for a program that starts it")
    .action((flags: DoorFlags) =>
      act(async () => (await import("./stdio-command.ts")).stdioCommand(name, config, flags)),
    );
}

export function addWork(program: Command, { name, config, act }: Place): void {
  withAgent(program.command("work"))
    .description("drives the sessions of the store that nobody else has, without a door")
    .action((flags: DoorFlags) =>
      act(async () => (await import("./work-command.ts")).workCommand(name, config, flags)),
    );
}

function withAgent(command: Command): Command {
  const choices: readonly Confinement[] = ["required", "preferred", "off"];
  return command
    .option("--agent <name>", "which agent")
    .option("--model <provider/name>", "which model")
    .option("--config <file>", "take agents from this module or JSON file")
    .option("--cwd <folder>", "the folder of new sessions")
    .addOption(new Option("--sandbox <confinement>", "whether programs run in a sandbox").choices(choices));
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("It must be a port number.");
}
