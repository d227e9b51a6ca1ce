/** Refuses to change a file that the model has not read in this session, or that changed on disk since it did. */

import { type Fact, type Plugin, plugin, sha256, type ToolOutput } from "@capstan/core";
import { isBegun, lookAt, pathsOf, type Seen } from "../call-files.ts";
import { recorded } from "../own-facts.ts";
import { forget, recall, remember, type Remembered } from "../remembered.ts";

const NAME = "read-before-edit";
/** Files that are remembered; what is forgotten must be read again. */
const FILES = 2_000;

/** `pending`: what calls that have not ended look at. */
type Own = { readonly known: Remembered<string>; readonly pending: Remembered<readonly (readonly [string, string])[]> };
type Data =
  | { readonly type: "reading"; readonly callId: string; readonly files: readonly (readonly [string, string])[] }
  /** `hash` null: what the file holds is not known any more. */
  | { readonly type: "holds"; readonly path: string; readonly hash: string | null };

/**
 * Guards every tool of kind `edit` by the paths it says that it writes; tools of kind `read` are what counts as reading. A
 * new file needs no reading, what the model wrote itself it knows.
 */
export function readBeforeEdit(): Plugin {
  return plugin<Own>({
    name: NAME,
    fold: { start: { known: [], pending: [] }, next },
    async tool(call, context, next) {
      const { kind } = call.tool;
      if ((kind !== "read" && kind !== "edit") || context.state.workspace === undefined) return next(call);
      const paths = await pathsOf(call, kind === "read" ? "read" : "write");
      if (paths.length === 0) return next(call);
      const workspace = await context.workspace();
      const look = (): Promise<readonly Seen[]> =>
        Promise.all(paths.map((path) => lookAt(workspace, path, context.signal)));
      if (kind === "read") {
        const files = (await look()).flatMap((seen) => (seen.type === "file" ? [[seen.path, seen.hash] as const] : []));
        if (files.length > 0) await context.record({ type: "reading", callId: call.callId, files } satisfies Data);
        return next(call);
      }
      const begun = isBegun(context.state, call.callId);
      const problem = begun ? undefined : problemOf(context.own.known, await look());
      if (problem !== undefined) return context.answer(problem, { isError: true });
      const output = await next(call);
      if (output.isError === true) return output;
      for (const seen of await look()) {
        if (seen.type !== "file") continue;
        // after a crash what stands there may be somebody else's work: only what the call itself shows counts
        const hash = begun && !shows(output, seen.hash) ? null : seen.hash;
        await context.record({ type: "holds", path: seen.path, hash } satisfies Data);
      }
      return output;
    },
  });
}

function problemOf(known: Remembered<string>, files: readonly Seen[]): string | undefined {
  for (const seen of files) {
    if (seen.type !== "file") continue;
    const { path, hash } = seen;
    const before = recall(known, path);
    if (before === undefined) return `Not done: you have not read ${shown(path)} yet. Read it first, then change it.`;
    if (before !== hash) {
      return `Not done: ${shown(path)} has changed since you read it. Read it again, then change what it holds now.`;
    }
  }
  return undefined;
}

function shows({ content }: ToolOutput, hash: string): boolean {
  return content.some((part) => part.type === "diff" && sha256(part.after) === hash);
}

function shown(path: string): string {
  return JSON.stringify(path);
}

function next(own: Own, fact: Fact): Own {
  if (fact.type === "tool.finished") {
    const files = recall(own.pending, fact.callId);
    if (files === undefined) return own;
    const read = fact.status === "ok" ? files : [];
    return {
      known: read.reduce((known, [path, hash]) => remember(known, path, hash, FILES), own.known),
      pending: forget(own.pending, fact.callId),
    };
  }
  const data = recorded<Data>(fact, NAME);
  if (data === undefined) return own;
  if (data.type === "reading") return { ...own, pending: remember(own.pending, data.callId, data.files, FILES) };
  const { path, hash } = data;
  return { ...own, known: hash === null ? forget(own.known, path) : remember(own.known, path, hash, FILES) };
}
