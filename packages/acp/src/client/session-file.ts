/** The file in which a client keeps its session's id, and its messages where that is wanted. Written whole, readable by its user only. */

import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { CapstanError, messageOf, systemClock, systemIds } from "@capstan/core";
import type { UiMessage, UiPart } from "@capstan/wire/acp";
import { ACP_LIMITS as LIMITS } from "../limits.ts";

const ids = systemIds(() => systemClock.now());

export type KeptSession = { readonly sessionId?: string; readonly messages?: readonly UiMessage[] };

/** Empty when there is none. Throws `config-invalid` for a file that is something else: it is not overwritten. */
export async function readSessionFile(path: string): Promise<KeptSession> {
  let text: string;
  try {
    if ((await stat(path)).size > LIMITS.messageFileBytes) throw invalid(path, "is too large");
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
  let kept: unknown;
  try {
    kept = JSON.parse(text);
  } catch (error) {
    throw invalid(path, messageOf(error));
  }
  const { sessionId, messages } = membersOf(kept);
  if (sessionId !== undefined && typeof sessionId !== "string") throw invalid(path, "holds no session");
  if (messages !== undefined && (!Array.isArray(messages) || !messages.every((one) => isMessage(one))))
    throw invalid(path, "holds messages that are none");
  return { ...(sessionId !== undefined && { sessionId }), ...(messages !== undefined && { messages }) };
}

export async function writeSessionFile(path: string, kept: KeptSession): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const beside = `${path}.${ids.random()}`;
  try {
    await writeFile(beside, `${JSON.stringify(kept)}\n`, { mode: 0o600, flag: "wx", flush: true });
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw new CapstanError("store-failed", `The session could not be kept in ${path}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function invalid(path: string, problem: string): CapstanError {
  return new CapstanError("config-invalid", `${path} ${problem}; move it away or name another file`);
}

function isMessage(value: unknown): value is UiMessage {
  const { id, role, parts } = membersOf(value);
  if (typeof id !== "string" || (role !== "user" && role !== "assistant" && role !== "system")) return false;
  return Array.isArray(parts) && parts.every((part): part is UiPart => typeof membersOf(part)["type"] === "string");
}

function membersOf(value: unknown): { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null ? (value as { readonly [name: string]: unknown }) : {};
}
