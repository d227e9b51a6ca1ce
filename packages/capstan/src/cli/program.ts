/** The command line: names, options and help. Every subcommand is loaded when it is called, so that help costs nothing. */

import { readFileSync } from "node:fs";
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import type { PermissionMode } from "@capstan/core";
import type { Config } from "../config.ts";
import { addAcp } from "./acp-command-line.ts";
import type { ImportFlags } from "./import-command.ts";
import { addAudit, addEval, addSessionReports } from "./observe-commands.ts";
import type { AnswerFlags } from "./request-answer.ts";
import type { ExplainFlags } from "./policy-command.ts";
import { addMcp } from "./mcp-command-line.ts";
import type { PackagesFlags } from "./packages-command.ts";
import type { PruneFlags } from "./prune-command.ts";
import type { ReplayFlags } from "./replay-command.ts";
import type { ResumeFlags } from "./resume-command.ts";
import type { RewindFlags } from "./rewind-command.ts";
import type { RunFlags } from "./run-command.ts";
import type { Confinement } from "./sandbox-setting.ts";
import { addServe, addStdio, addWork } from "./serve-command-line.ts";
import type { TrustFlags } from "./trust-command.ts";
import { addTerminal, canOpenTerminal } from "./tui-command-line.ts";

/** `PERMISSION_MODES`, which would load the whole core for help. */
const MODES = Object.keys({
  ask: true,
  "accept-edits": true,
  bypass: true,
  plan: true,
  "never-ask": true,
} satisfies Record<PermissionMode, true>);

export type ProgramOptions = {
  /** What the command is called; default `capstan`. */
  readonly name?: string;
  /** Agents and all else of a command of one's own; `--config` then takes its place. */
  readonly config?: Config;
};

/** Runs one command line and returns its exit code. Every failure is one line on stderr. */
export async function runProgram(
  argv: readonly string[],
  { name = "capstan", config }: ProgramOptions = {},
): Promise<number> {
  let exitCode = 0;
  const act = (work: () => Promise<number>): Promise<void> => work().then((code) => void (exitCode = code));
  const program = programOf(name, config, act);
  process.stdout.on("error", () => undefined); // a reader that goes away; whoever writes much looks for it itself
  process.on("uncaughtException", (error) => void fail(name, error).then((code) => process.exit(code)));
  try {
    if (argv.length > 0) await program.parseAsync([...argv], { from: "user" });
    else if (canOpenTerminal(process))
      exitCode = await (await import("./terminal-command.ts")).terminalCommand(name, config);
    else program.outputHelp();
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return commandLineFailure(name, error);
    return fail(name, error);
  }
}

/** Never rejects: an installation that is not whole must end the process too, and not report itself for ever. */
async function fail(name: string, error: unknown): Promise<number> {
  try {
    const { reportFailure } = await import("./failure.ts");
    return reportFailure(name, error);
  } catch {
    const [said] = String(error).split("\n", 1);
    process.stderr.write(`${name}: This installation is not whole: ${said}. Install it again (unexpected)\n`);
    return 1;
  }
}

type Act = (work: () => Promise<number>) => Promise<void>;
type Place = { readonly name: string; readonly config: Config | undefined; readonly act: Act };

function programOf(name: string, config: Config | undefined, act: Act): Command {
  const program = new Command(name)
    .description("Runs agents that survive crashes: every step is on disk before the next one starts.")
    .version(version(), "-v, --version", "the version")
    .helpOption("-h, --help", "this help")
    .helpCommand("help [command]", "help on a command")
    .exitOverride()
    .configureOutput({ outputError: () => undefined });
  const place = { name, config, act };
  addTerminal(program, { ...place, filled });
  addRun(program, place);
  addResume(program, place);
  addSessions(program, place);
  addRequests(program, place);
  addModels(program, place);
  if (config === undefined) addDemo(program, place);
  addDoctor(program, place);
  addPolicy(program, place);
  addTrust(program, place);
  addAudit(program, { ...place, filled, positiveInteger });
  addEval(program, { ...place, filled, positiveInteger });
  addMcp(program, place);
  addPackages(program, place);
  addServe(program, place);
  addStdio(program, place);
  addWork(program, place);
  addAcp(program, place);
  return program.addHelpText(
    "after",
    `\nExit codes: 0 done, 1 failed, 2 usage, 3 refused with nobody to ask, 4 limit, 5 waiting, 130 interrupted.\n`,
  );
}

function addRun(program: Command, { name, config, act }: Place): void {
  program
    .command("run")
    .description("gives an agent one thing to do and follows it to its end")
    .argument("[prompt]", "what is to be done; read from standard input when that is no terminal")
    .option("-p, --prompt <text>", "the prompt, as an option")
    .option("--session <id>", "go on with this session", filled)
    .option("--key <key>", "go on with the session of this key, or begin it", filled)
    .option("--idempotency-key <key>", "the same key gives the same run, also after a crash", filled)
    .option("--agent <name>", "which agent", filled)
    .option("--model <provider/name>", "which model", filled)
    .option("--schema <file or JSON>", "the answer is to be JSON that fits this JSON Schema", filled)
    .option("--max-usd <amount>", "end the run when it has cost this much", positive)
    .option("--max-turns <number>", "end the run after so many model calls", positiveInteger)
    .option("--allow <rule>", "allow what would be asked, such as 'shell(npm test)'; may be repeated", collect, [])
    .option("--deny <rule>", "deny without asking; may be repeated", collect, [])
    .addOption(new Option("--mode <mode>", "how calls are permitted").choices(MODES))
    .option("--config <file>", "take agents from this module or JSON file", filled)
    .addOption(
      new Option("--output <format>", "what stdout gets").choices(["text", "json", "stream-json"]).default("text"),
    )
    .option("--cwd <folder>", "the folder to work in", filled)
    .addOption(sandboxOption())
    .option("--verbose", "say also what was taken from settings and folder, and what programs run in")
    .action((prompt: string | undefined, flags: RunFlags) =>
      act(async () => (await import("./run-command.ts")).runCommand(name, config, prompt, flags)),
    );
}

function addResume(program: Command, { name, config, act }: Place): void {
  program
    .command("resume")
    .description("goes on with what was left unfinished")
    .argument("[session]", "only this session")
    .option("--config <file>", "take agents from this module or JSON file", filled)
    .addOption(sandboxOption())
    .option("--verbose", "say also what was taken from settings and folder, and what programs run in")
    .action((id: string | undefined, flags: ResumeFlags) =>
      act(async () => (await import("./resume-command.ts")).resumeCommand(name, config, id, flags)),
    );
}

function addSessions(program: Command, { name, config, act }: Place): void {
  const sessions = program
    .command("sessions")
    .description("lists, shows, watches, forks, rewinds, exports, imports, prunes and deletes sessions")
    .helpCommand(false);
  const load = () => import("./sessions-command.ts");
  sessions
    .command("list")
    .description("lists the sessions, newest first")
    .option("--json", "one JSON object a line")
    .option("--limit <number>", "at most so many", positiveInteger, 50)
    .action((flags: { readonly json?: boolean; readonly limit: number }) =>
      act(async () => (await load()).listSessions(name, config, flags)),
    );
  sessions
    .command("show")
    .description("shows what was said and done")
    .argument("<session>")
    .action((id: string) => act(async () => (await load()).showSession(name, config, id)));
  sessions
    .command("watch")
    .description("writes every event as it comes as JSON lines, until Ctrl-C")
    .argument("<session>")
    .option("--after <cursor>", "only what comes after this cursor, such as 41, 41.17 or end; default everything")
    .action((id: string, flags: { readonly after?: string }) =>
      act(async () => (await import("./watch-command.ts")).watchSession(config, id, flags)),
    );
  sessions
    .command("fork")
    .description("begins a new session with what was said and done in this one, and writes its id")
    .argument("<session>")
    .option("--at <number>", "only up to the fact of this number", positiveInteger)
    .action((id: string, flags: { readonly at?: number }) =>
      act(async () => (await load()).forkSession(config, id, flags)),
    );
  sessions
    .command("export")
    .description("writes the facts of a session as JSON lines")
    .argument("<session>")
    .action((id: string) => act(async () => (await load()).exportSession(name, config, id)));
  addSessionReports(sessions, { config, act, filled, positiveInteger });
  addRewind(sessions, { name, config, act });
  addKeeping(sessions, { config, act });
  sessions
    .command("delete")
    .description("deletes a session with all that belongs to it")
    .argument("<session>")
    .action((id: string) => act(async () => (await load()).deleteSession(config, id)));
}

function addRewind(sessions: Command, { name, config, act }: Place): void {
  sessions
    .command("rewind")
    .description(
      "shows what going back would do to the files, asks, restores them and forks the session there; writes the new id",
    )
    .argument("<session>")
    .requiredOption("--to <number>", "the fact of this number is the last one that counts", positiveInteger)
    .addOption(new Option("--changed <what>", "files that others changed too").choices(["keep", "overwrite"]))
    .option("--dry-run", "only shows it")
    .option("--yes", "do not ask")
    .action((id: string, flags: RewindFlags) =>
      act(async () => (await import("./rewind-command.ts")).rewindCommand(name, config, id, flags)),
    );
}

function addKeeping(sessions: Command, { config, act }: Pick<Place, "config" | "act">): void {
  sessions
    .command("import")
    .description(
      "begins a new session with the conversation of an export or of another SDK's messages, and writes its id",
    )
    .argument("<file>", "JSON lines of `sessions export`, or a JSON list of messages")
    .option("--agent <name>", "whose session it is to be; default that of the export", filled)
    .action((file: string, flags: ImportFlags) =>
      act(async () => (await import("./import-command.ts")).importCommand(config, file, flags)),
    );
  sessions
    .command("prune")
    .description("deletes finished sessions that are old or too many, with all that belongs to them")
    .option("--older-than <days>", "those that have not changed for so many days", positive)
    .option("--keep <number>", "all but so many that changed last", positiveInteger)
    .option("--dry-run", "only lists them")
    .action((flags: PruneFlags) => act(async () => (await import("./prune-command.ts")).pruneCommand(config, flags)));
}

function addRequests(program: Command, { name, config, act }: Place): void {
  const requests = program
    .command("requests")
    .description("lists and answers the open questions of all sessions")
    .helpCommand(false);
  const load = () => import("./requests-command.ts");
  requests
    .command("list")
    .description("lists what waits for an answer, oldest first")
    .option("--json", "one JSON object a line")
    .action((flags: { readonly json?: boolean }) => act(async () => (await load()).listRequests(name, config, flags)));
  requests
    .command("answer")
    .description("answers a request; the process that drives its session goes on, or `resume` does")
    .argument("<request>")
    .option("--allow", "yes")
    .option("--deny", "no")
    .option("--reason <text>", "why, for the model")
    .option("--choose <choice>", "a choice for a question; may be repeated", collect, [])
    .option("--json <value>", "the content of a form, the result of a client tool")
    .action((id: string, flags: AnswerFlags) => act(async () => (await load()).answerRequest(name, config, id, flags)));
}

function addModels(program: Command, { act }: Place): void {
  program
    .command("models")
    .description("lists the models that can be used here, and what is missing for the others")
    .option("--json", "one JSON object a line")
    .action((flags: { readonly json?: boolean }) =>
      act(async () => (await import("./models-command.ts")).modelsCommand(flags)),
    );
}

function addDemo(program: Command, { name, act }: Place): void {
  program
    .command("demo")
    .description("repairs a small broken project with a scripted model: no key, no network")
    .action(() => act(async () => (await import("./demo-command.ts")).demoCommand(name)));
}

function addDoctor(program: Command, { name, config, act }: Place): void {
  program
    .command("doctor")
    .description("checks what Capstan needs on this machine")
    .action(() => act(async () => (await import("./doctor-command.ts")).doctorCommand(name, config)));
}

function addPolicy(program: Command, { config, act }: Place): void {
  const policy = program.command("policy").description("explains what the permission rules say").helpCommand(false);
  policy
    .command("explain")
    .description("says whether a call would be allowed, and which rule decides on each thing it touches")
    .argument("<call>", "such as 'shell(git status && ls)', 'read_file(README.md)', or a command")
    .argument("[input]", "the input as JSON, when <call> is a tool's name")
    .option("--agent <name>", "which agent", filled)
    .option("--allow <rule>", "as if this were allowed too; may be repeated", collect, [])
    .option("--deny <rule>", "as if this were denied too; may be repeated", collect, [])
    .addOption(new Option("--mode <mode>", "under this mode").choices(MODES))
    .option("--cwd <folder>", "the folder to work in", filled)
    .option("--json", "one JSON object")
    .action((call: string, input: string | undefined, flags: ExplainFlags) =>
      act(async () => (await import("./policy-command.ts")).explainCommand(config, call, input, flags)),
    );
  policy
    .command("replay")
    .description(
      "judges the recorded calls of a session under the rules of today, and says what would differ; runs nothing",
    )
    .argument("<session>")
    .option("--allow <rule>", "as if this were allowed too; may be repeated", collect, [])
    .option("--deny <rule>", "as if this were denied too; may be repeated", collect, [])
    .addOption(new Option("--mode <mode>", "under this mode in place of the recorded ones").choices(MODES))
    .option("--all", "also calls whose verdict stays the same")
    .option("--json", "one JSON object a line")
    .action((id: string, flags: ReplayFlags) =>
      act(async () => (await import("./replay-command.ts")).replayCommand(config, id, flags)),
    );
}

function addTrust(program: Command, { name, config, act }: Place): void {
  program
    .command("trust")
    .description("trusts a folder's own settings and instructions, as they are now")
    .argument("[folder]", "default: the current one")
    .option("--list", "show all decisions instead")
    .option("--remove", "take the decision back")
    .option("--yes", "do not ask")
    .action((folder: string | undefined, flags: TrustFlags) =>
      act(async () => (await import("./trust-command.ts")).trustCommand(name, config, folder, flags)),
    );
}

function sandboxOption(): Option {
  const choices: readonly Confinement[] = ["required", "preferred", "off"];
  return new Option("--sandbox <confinement>", "whether programs run in a sandbox").choices(choices);
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

function addPackages(program: Command, { name, act }: Place): void {
  program
    .command("packages")
    .description("shows the packages of skills, commands, rules, tools and plugins that you trust; adds or removes one")
    .argument("[from]", "a folder, or the name of an installed npm package")
    .option("--yes", "trust it as it is now without asking")
    .option("--remove", "use it no more")
    .action((from: string | undefined, flags: PackagesFlags) =>
      act(async () => (await import("./packages-command.ts")).packagesCommand(name, from, flags)),
    );
}

/** An empty text is what a script's unset variable leaves. */
function filled(text: string): string {
  if (text.trim() !== "") return text;
  throw new InvalidArgumentError("It must not be empty.");
}

function positive(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("It must be a number above 0.");
}

function positiveInteger(text: string): number {
  const value = positive(text);
  if (Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError("It must be a whole number.");
}

/** Help and version are no failures; the rest is what was typed. */
function commandLineFailure(name: string, error: CommanderError): number {
  if (error.exitCode === 0) return 0;
  const asked = error.code === "commander.help"; // a command that only has subcommands, without one
  const message = asked
    ? "A subcommand is missing"
    : error.message
        .replace(/^error: /, "")
        .replaceAll(/\s*\n\s*/g, " ")
        .replace(/\.$/, "");
  const next = asPrompt(error) ? `to give a prompt: ${name} run "..."` : "see --help";
  process.stderr.write(`${name}: ${message.charAt(0).toUpperCase()}${message.slice(1)}; ${next} (usage)\n`);
  return 2;
}

/** Words that were meant as a prompt: without the command in front of them, or without quotes around them. */
function asPrompt({ code, message }: CommanderError): boolean {
  if (code === "commander.excessArguments") return message.includes("'run'");
  return code === "commander.unknownCommand" && /command '\S+\s/.test(message);
}

function version(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { readonly version: string }).version; // our own manifest
}
