/** Answers a repeated read of a file that has not changed with one line that names the earlier call. */

import { type Fact, hashJson, type Json, type Plugin, plugin, textOf } from "@capstan/core";
import { isBegun, lookAt, pathsOf } from "../call-files.ts";
import { recorded } from "../own-facts.ts";
import { recall, remember, type Remembered } from "../remembered.ts";

const NAME = "repeat-read";
const READS = 1_000;
/** Shorter results are given again: a line about them would save nothing. UTF-16 units. */
const LEAST_CHARACTERS = 400;
const SHOWN_INPUT = 200;

type Read = {
  readonly path: string;
  readonly hash: string;
  readonly runId: string;
  readonly turn: number;
  /** Of the fact with its result. */
  readonly seq?: number;
  /** The call that was answered with a line about it. */
  readonly answered?: string;
};
/** `pending` by call, `reads` by what was asked. */
type Own = {
  readonly reads: Remembered<Read>;
  readonly pending: Remembered<{ readonly key: string; readonly read: Read }>;
};
type Data =
  | { readonly type: "reading"; readonly callId: string; readonly key: string; readonly read: Read }
  | { readonly type: "answered"; readonly callId: string; readonly key: string }
  | { readonly type: "changes"; readonly path: string };

/**
 * For tools of kind `read` that read one file: same tool, same arguments, same bytes on disk. When the model asks once more
 * after that line, it gets the file: whatever it is, it does not see what it had.
 */
export function repeatRead(): Plugin {
  return plugin<Own>({
    name: NAME,
    fold: { start: { reads: [], pending: [] }, next },
    async tool(call, context, next) {
      const { kind } = call.tool;
      if ((kind !== "read" && kind !== "edit") || context.state.workspace === undefined) return next(call);
      const [path, ...others] = await pathsOf(call, kind === "read" ? "read" : "write");
      if (path === undefined || (kind === "read" && others.length > 0)) return next(call);
      const workspace = await context.workspace();
      if (kind === "edit") {
        for (const name of [path, ...others]) {
          const { path: changed } = await lookAt(workspace, name, context.signal);
          const isKnown = context.own.reads.some(([, read]) => read.path === changed);
          if (isKnown) await context.record({ type: "changes", path: changed } satisfies Data);
        }
        return next(call);
      }
      const seen = await lookAt(workspace, path, context.signal);
      if (seen.type !== "file") return next(call);
      const { callId } = call;
      const key = hashJson([call.name, call.input]);
      const earlier = recall(context.own.reads, key);
      const isSame = earlier?.hash === seen.hash && !isBegun(context.state, callId);
      if (isSame && (earlier.answered === undefined || earlier.answered === callId)) {
        await context.record({ type: "answered", callId, key } satisfies Data);
        return context.answer(line(call.name, call.input, earlier, context.runId));
      }
      const read = { path: seen.path, hash: seen.hash, runId: context.runId, turn: context.state.run?.turns ?? 0 };
      await context.record({ type: "reading", callId, key, read } satisfies Data);
      return next(call);
    },
  });
}

function line(name: string, input: Json, { turn, runId }: Read, current: string): string {
  const said = JSON.stringify(input).slice(0, SHOWN_INPUT).toWellFormed();
  const when = runId === current ? `in turn ${turn} of this run` : "in an earlier run of this conversation";
  return `The file has not changed since your call ${name} ${said} ${when}: its result above is still right. Call once more if you need it again.`;
}

function next(own: Own, fact: Fact): Own {
  if (fact.type === "tool.finished") {
    const found = recall(own.pending, fact.callId);
    if (found === undefined) return own;
    const pending = own.pending.filter(([callId]) => callId !== fact.callId);
    const isLong = textOf(fact.output.content).length >= LEAST_CHARACTERS;
    if (fact.status !== "ok" || !isLong) return { ...own, pending };
    return { reads: remember(own.reads, found.key, { ...found.read, seq: fact.seq }, READS), pending };
  }
  if (fact.type === "context.compacted") {
    return { ...own, reads: own.reads.filter(([, { seq = 0 }]) => seq > fact.throughSeq) };
  }
  const data = recorded<Data>(fact, NAME);
  switch (data?.type) {
    case "reading":
      return { ...own, pending: remember(own.pending, data.callId, { key: data.key, read: data.read }, READS) };
    case "answered": {
      const read = recall(own.reads, data.key);
      return read === undefined
        ? own
        : { ...own, reads: remember(own.reads, data.key, { ...read, answered: data.callId }, READS) };
    }
    case "changes":
      return { ...own, reads: own.reads.filter(([, { path }]) => path !== data.path) };
    case undefined:
      return own;
    default:
      return data satisfies never;
  }
}
