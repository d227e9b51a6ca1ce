/** Options and help of the commands that look at what was done: reports, tool usage, audit logs and evaluations. */

import { type Command, Option } from "commander";
import type { Config } from "../config.ts";
import type { AuditFlags } from "./audit-command.ts";
import type { EvalFlags } from "./eval-command.ts";
import type { ReportFlags } from "./report-command.ts";
import type { UsageFlags } from "./usage-command.ts";

type Place = {
  readonly config: Config | undefined;
  readonly act: (work: () => Promise<number>) => Promise<void>;
  /** Parsers of option values. */
  readonly filled: (text: string) => string;
  readonly positiveInteger: (text: string) => number;
};

/** `sessions report` and `sessions usage`. */
export function addSessionReports(sessions: Command, { config, act, positiveInteger }: Place): void {
  sessions
    .command("report")
    .description("writes what a session and its sub-agents did, with times and costs, as one HTML file or as JSON")
    .argument("<session>")
    .addOption(new Option("--output <format>", "what stdout gets").choices(["html", "json"]).default("html"))
    .action((id: string, flags: ReportFlags) =>
      act(async () => (await import("./report-command.ts")).reportCommand(config, id, flags)),
    );
  sessions
    .command("usage")
    .description("counts how tools were used: calls, ends, times, questions, sizes")
    .argument("[session]", "default: all of them")
    .option("--limit <number>", "the newest sessions, at most so many", positiveInteger, 1_000)
    .option("--json", "one JSON object a line")
    .action((id: string | undefined, flags: UsageFlags) =>
      act(async () => (await import("./usage-command.ts")).usageCommand(config, id, flags)),
    );
}

export function addAudit(program: Command, { act, filled }: Place): void {
  program
    .command("audit")
    .description("checks audit logs")
    .helpCommand(false)
    .command("verify")
    .description("says whether an audit log is whole, and what was changed or is missing in it")
    .argument("<file>")
    .option("--key-file <file>", "holds the key that the log is written with", filled)
    .option("--expect <number:hash>", "the log must still hold this record, as an earlier check gave it", filled)
    .option("--json", "one JSON object")
    .action((file: string, flags: AuditFlags) =>
      act(async () => (await import("./audit-command.ts")).auditCommand(file, flags)),
    );
}

export function addEval(program: Command, { act, filled, positiveInteger }: Place): void {
  program
    .command("eval")
    .description("runs an evaluation and ends with 1 when a threshold is missed")
    .argument("<module>", "its default export is what `evaluation({ ... })` returns")
    .option("--dataset <file>", "JSON lines in place of the module's own items", filled)
    .option("--limit <number>", "only the first so many items", positiveInteger)
    .option("--concurrency <number>", "items at a time", positiveInteger)
    .option("--json", "the whole report as one JSON object")
    .action((file: string, flags: EvalFlags) =>
      act(async () => (await import("./eval-command.ts")).evalCommand(file, flags)),
    );
}
