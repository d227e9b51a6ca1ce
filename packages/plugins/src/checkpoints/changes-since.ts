/** What a session and its sub-agents did to files after a point of its log, in order, as the plugin noted it. */

import { CapstanError, type Engine, type Fact, type FactOf, type ToolKind, type WorkspaceRef } from "@capstan/core";
import { type Checkpoint, checkpointOf, type FileAfter, type FileBefore } from "./checkpoint-facts.ts";

/** Sub-agents below one session that are looked at. */
const SESSIONS = 4_096;
/** Commands that are told. */
const COMMANDS = 1_000;

export type Note = { readonly callId: string } & (
  | { readonly type: "before"; readonly file: FileBefore }
  | { readonly type: "after"; readonly file: FileAfter }
);
export type Since = {
  readonly workspace: WorkspaceRef;
  /** By path; each list in the order of what happened. */
  readonly files: ReadonlyMap<string, readonly Note[]>;
  /** Titles of calls that may have changed files which nobody kept. */
  readonly commands: readonly string[];
};

const TYPES: readonly Fact["type"][] = ["session.created", "data", "tool.started", "task.started", "task.finished"];

/** Throws `session-not-found`, `session-damaged`, `cursor-invalid`, `workspace-missing`, `limit-reached`. */
export async function changesSince(engine: Engine, sessionId: string, at: number): Promise<Since> {
  const summary = await engine.summary(sessionId);
  if (summary === undefined)
    throw new CapstanError("session-not-found", `There is no session ${JSON.stringify(sessionId)}`);
  if (!Number.isSafeInteger(at) || at < 1 || at > summary.head)
    throw new CapstanError("cursor-invalid", `There is no fact ${at} in this session: go back to 1 to ${summary.head}`);
  const reading = new Reading(engine);
  const workspace = await reading.visit(sessionId, { after: at, time: await timeOf(engine, sessionId, at) });
  if (workspace === undefined)
    throw new CapstanError(
      "workspace-missing",
      `Session ${sessionId} works in no folder: it has no files to go back to`,
    );
  return { workspace, ...reading.found(workspace) };
}

async function timeOf(engine: Engine, sessionId: string, seq: number): Promise<number> {
  for await (const fact of engine.read(sessionId, { after: seq - 1 })) return fact.at;
  return 0;
}

/** From where on a log counts: by number in the session itself, by time in sub-agents that worked before and after. */
type From = { readonly after?: number; readonly time: number };
type Call = { before?: Extract<Checkpoint, { type: "before" }>; counts: boolean };
type Timed = { readonly at: number; readonly root: string; readonly checkpoint: Checkpoint };

class Reading {
  readonly #engine: Engine;
  readonly #visited = new Set<string>();
  readonly #notes: Timed[] = [];
  readonly #commands: { readonly at: number; readonly title: string }[] = [];

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Returns where the session works. */
  async visit(sessionId: string, from: From): Promise<WorkspaceRef | undefined> {
    if (this.#visited.has(sessionId)) return undefined;
    if (this.#visited.size >= SESSIONS)
      throw new CapstanError("limit-reached", `More than ${SESSIONS} sub-agents worked here; go back to a later point`);
    this.#visited.add(sessionId);
    const facts: Fact[] = [];
    for await (const fact of this.#engine.read(sessionId, { types: TYPES })) facts.push(fact);
    const [created] = facts;
    const workspace = created?.type === "session.created" ? created.workspace : undefined;
    if (workspace !== undefined) this.#take(facts, from, placeOf(workspace));
    for (const [child, childFrom] of childrenOf(facts, from)) await this.#below(child, childFrom);
    return workspace;
  }

  found(workspace: WorkspaceRef): Pick<Since, "files" | "commands"> {
    const files = new Map<string, Note[]>();
    const here = this.#notes.filter(({ root }) => root === placeOf(workspace));
    for (const { checkpoint } of here.toSorted((left, right) => left.at - right.at)) {
      for (const note of notesOf(checkpoint)) {
        const known = files.get(note.file.path);
        if (known === undefined) files.set(note.file.path, [note]);
        else known.push(note);
      }
    }
    const told = this.#commands.toSorted((left, right) => left.at - right.at).slice(0, COMMANDS);
    return { files, commands: told.map(({ title }) => title) };
  }

  /** One that was removed has left its changes without a record. */
  async #below(sessionId: string, from: From): Promise<void> {
    try {
      await this.visit(sessionId, from);
    } catch (error) {
      if (!CapstanError.is(error, "session-not-found")) throw error;
    }
  }

  /** A call counts when it ended after the point: of one that was under way there, nothing is inherited. */
  #take(facts: readonly Fact[], from: From, root: string): void {
    const calls = new Map<string, Call>();
    const inOrder: { readonly at: number; readonly checkpoint: Checkpoint; readonly call: Call }[] = [];
    for (const fact of facts) {
      if (fact.type === "tool.started" && isAfter(fact, from) && isUnseen(fact, calls))
        this.#commands.push({ at: fact.at, title: fact.title });
      const checkpoint = checkpointOf(fact);
      if (checkpoint === undefined) continue;
      const call = calls.get(checkpoint.callId) ?? { counts: true };
      calls.set(checkpoint.callId, call);
      if (checkpoint.type === "before") call.before = checkpoint;
      else call.counts = isAfter(fact, from);
      inOrder.push({ at: fact.at, checkpoint, call });
    }
    for (const { at, checkpoint, call } of inOrder) {
      const isOld = checkpoint.type === "before" && checkpoint !== call.before; // looked at again before it began
      if (call.counts && !isOld) this.#notes.push({ at, root, checkpoint });
    }
  }
}

const CHANGING: readonly ToolKind[] = ["edit", "delete", "move"];

/** A program may change more than it says; another tool what it does not say at all. */
function isUnseen({ kind, callId }: FactOf<"tool.started">, calls: ReadonlyMap<string, Call>): boolean {
  return kind === "execute" || (CHANGING.includes(kind) && !calls.has(callId));
}

function isAfter(fact: Fact, { after, time }: From): boolean {
  return after === undefined ? fact.at > time : fact.seq > after;
}

/** Sub-agents that worked after the point. */
function childrenOf(facts: readonly Fact[], from: From): ReadonlyMap<string, From> {
  const ended = new Set<string>();
  for (const fact of facts) if (fact.type === "task.finished" && !isAfter(fact, from)) ended.add(fact.taskId);
  const children = new Map<string, From>();
  for (const fact of facts) {
    if (fact.type !== "task.started" || fact.childSessionId === undefined || ended.has(fact.taskId)) continue;
    children.set(fact.childSessionId, { time: isAfter(fact, from) ? -Infinity : from.time });
  }
  return children;
}

function placeOf({ kind, root }: WorkspaceRef): string {
  return JSON.stringify([kind, root]);
}

function notesOf(checkpoint: Checkpoint): readonly Note[] {
  const { callId } = checkpoint;
  return checkpoint.type === "before"
    ? checkpoint.files.map((file) => ({ callId, type: "before", file }))
    : checkpoint.files.map((file) => ({ callId, type: "after", file }));
}
