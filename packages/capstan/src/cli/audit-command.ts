/** `capstan audit verify`: whether an audit log is whole. */

import { readFile } from "node:fs/promises";
import { verifyAuditLog } from "@capstan/plugins/audit-log";
import { messageOf } from "@capstan/core";
import { EXIT, usage } from "./failure.ts";
import { inertLine } from "./inert.ts";
import { screen as newScreen } from "./screen.ts";

export type AuditFlags = { readonly keyFile?: string; readonly expect?: string; readonly json?: boolean };

export async function auditCommand(file: string, { keyFile, expect, json }: AuditFlags): Promise<number> {
  const screen = newScreen();
  const report = await verifyAuditLog(file, {
    ...(keyFile !== undefined && { key: await keyIn(keyFile) }),
    ...(expect !== undefined && { expect: linkOf(expect) }),
  });
  if (json === true) screen.data(JSON.stringify(report));
  else {
    const { records, sessions, head, problems } = report;
    for (const { line, code, message } of problems)
      screen.data(`${line === 0 ? "" : `line ${line}: `}${inertLine(message)} (${code})`);
    screen.data(`${records} records of ${sessions} sessions, the last is ${head.n}:${head.hash}`);
    screen.note(report.ok ? "The log is whole" : "The log is not whole");
  }
  await screen.flush();
  return report.ok && !screen.failed ? EXIT.done : EXIT.failed;
}

/** As written, without the line end that editors add. */
async function keyIn(file: string): Promise<string> {
  try {
    return (await readFile(file, "utf8")).replace(/\r?\n$/, "");
  } catch (error) {
    throw usage(`The key file cannot be read: ${messageOf(error)}`);
  }
}

function linkOf(text: string): { readonly n: number; readonly hash: string } {
  const [, digits = "", hash = ""] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (hash === "") throw usage("--expect is the number and the hash of a record, as 12:9f86...");
  return { n: Number(digits), hash };
}
