/** Which scope a session remembers in: its tenant's, and in that its project's. */

import { CapstanError, type Definitions, type Engine, type Metadata } from "@capstan/core";
import type { MemoryScope } from "./memory.ts";

/** What a session says of itself, for a choice of the project. */
export type SessionPlace = {
  readonly sessionId: string;
  /** Root of its workspace. */
  readonly root?: string;
  readonly metadata: Metadata;
};
export type ProjectOf = (session: SessionPlace) => string;

/** The folder it works in; sessions without one share a project. */
export const projectOfRoot: ProjectOf = ({ root }) => root ?? "";

/** The tenant is the one that the session belongs to, whoever acts in it. */
export async function scopeOf(
  runtimes: Iterable<Definitions>,
  sessionId: string,
  projectOf: ProjectOf,
): Promise<MemoryScope> {
  for (const { engine } of [...runtimes].toReversed()) {
    const summary = await engine.summary(sessionId);
    if (summary === undefined) continue;
    const project: unknown = projectOf(await placeOf(engine, sessionId)); // an author's function: its type is a promise, not a fact
    if (typeof project !== "string") throw new CapstanError("plugin-invalid", "memory: project gives a text");
    return { project, ...(summary.tenant !== undefined && { tenant: summary.tenant }) };
  }
  throw new CapstanError("session-not-found", `Session ${sessionId} is in no store that the memory's plugin knows`);
}

async function placeOf(engine: Engine, sessionId: string): Promise<SessionPlace> {
  let place: SessionPlace = { sessionId, metadata: {} };
  for await (const fact of engine.read(sessionId, { types: ["session.created", "session.updated"] })) {
    place = { ...place, metadata: { ...place.metadata, ...("metadata" in fact ? fact.metadata : {}) } };
    if (fact.type === "session.created" && fact.workspace !== undefined)
      place = { ...place, root: fact.workspace.root };
  }
  return place;
}
