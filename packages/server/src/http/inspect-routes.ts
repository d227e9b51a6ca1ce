/** Routes for those who look on: which agents there are, what a model was asked, and the bytes that a log names. */

import { CapstanError, conversation, type Fact, isLive, type Json, type Message, type Session } from "@capstan/core";
import { isShown } from "@capstan/wire";
import type { Caller } from "./caller.ts";
import { json } from "./errors.ts";
import { type Call, type Route, route } from "./route.ts";
import { sessionOf } from "./session-routes.ts";

export const inspectRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/agents",
    summary: "Names of the agents that the operator offers, the usual one first.",
    run: ({ door }) => Promise.resolve(json({ agents: door.agents })),
  }),
  route({
    method: "get",
    path: "/sessions/:id/turns/:seq/request",
    summary: "What the model was asked in the turn that began with fact `seq`. For trusted callers.",
    run: async (call) => {
      refuseStrangers(call.caller);
      return json(await modelRequest(call, await sessionOf(call), seqOf(call.param("seq"))));
    },
  }),
  route({
    method: "get",
    path: "/sessions/:id/blobs/:hash",
    summary: "The bytes of a file that the session names by hash.",
    run: async (call) => {
      const hash = call.param("hash");
      if (!/^[0-9a-f]{64}$/.test(hash)) throw new CapstanError("input-invalid", "A hash has 64 hexadecimal digits");
      const blob = blobOf(call);
      if (!(await isNamed(await sessionOf(call), hash, call.caller))) throw missing(hash);
      return bytes(await blob(hash));
    },
  }),
];

type ModelRequest = {
  readonly model: string;
  readonly prefixHash: string;
  /** The stored prefix: system text and tools. */
  readonly [member: string]: unknown;
  readonly messages: readonly Message[];
};

/** System text and tools are the stored bytes; the conversation is what the facts before the turn make of it. */
async function modelRequest(call: Call<unknown>, session: Session, seq: number): Promise<ModelRequest> {
  const said = conversation();
  const inputs = new Map<string, Json | undefined>();
  let prefix: { readonly hash: string; readonly blob: string } | undefined;
  let overrides: Json | undefined;
  for await (const fact of factsOf(session)) {
    if (fact.seq < seq) said.apply(fact);
    if (fact.type === "prefix.set") prefix = { hash: fact.hash, blob: fact.blob };
    else if (fact.type === "input.accepted") inputs.set(fact.inputId, fact.overrides as Json | undefined);
    else if (fact.type === "run.started") overrides = inputs.get(fact.inputId);
    if (fact.seq < seq) continue;
    if (fact.type !== "turn.started" || fact.seq !== seq) break;
    const { model, prefixHash } = fact;
    const stored = prefix?.hash === prefixHash ? await storedPrefix(call, prefix.blob) : {};
    return { model, prefixHash, ...stored, messages: said.messages, ...(overrides !== undefined && { overrides }) };
  }
  throw new CapstanError("input-invalid", `Fact ${seq} of this session begins no turn`);
}

async function storedPrefix(call: Call<unknown>, hash: string): Promise<{ readonly [member: string]: unknown }> {
  if (call.door.blob === undefined) return {};
  const stored: unknown = JSON.parse(new TextDecoder().decode(await call.door.blob(hash)));
  return typeof stored === "object" && stored !== null ? { ...stored } : {};
}

/** Facts that hold files. The others name what the operator wrote: system texts and tools. */
const WITH_FILES: ReadonlySet<Fact["type"]> = new Set([
  "input.accepted",
  "message.added",
  "tool.finished",
  "request.resolved",
  "context.compacted",
]);

/** Whether what this caller may read of the session names the blob. */
async function isNamed(session: Session, hash: string, { trusted }: Caller): Promise<boolean> {
  for await (const fact of factsOf(session)) {
    const readable = WITH_FILES.has(fact.type) || (trusted === true && isShown(fact));
    if (readable && JSON.stringify(fact).includes(`"${hash}"`)) return true;
  }
  return false;
}

/** The log as it is now. */
async function* factsOf(session: Session): AsyncGenerator<Fact> {
  const { head } = await session.state();
  for await (const { event } of session.events({ live: false })) {
    if (isLive(event)) continue;
    yield event;
    if (event.seq >= head) return;
  }
}

function blobOf({ door }: Call<unknown>): (hash: string) => Promise<Uint8Array> {
  if (door.blob !== undefined) return door.blob;
  throw new CapstanError("usage", "This server gives no files: its operator names no `blob`");
}

/** Never as a page of this origin, whatever is in it. */
function bytes(content: Uint8Array): Response {
  return new Response(new Uint8Array(content), {
    headers: {
      "content-type": "application/octet-stream",
      "content-disposition": "attachment",
      "content-security-policy": "sandbox; default-src 'none'",
      "cache-control": "private, max-age=31536000, immutable",
    },
  });
}

function refuseStrangers({ trusted }: Caller): void {
  if (trusted !== true) throw new CapstanError("permission-denied", "What a model was asked is shown to the operator");
}

function seqOf(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new CapstanError("input-invalid", "seq must be the number of a fact");
}

function missing(hash: string): CapstanError {
  return new CapstanError("blob-missing", `This session names no file ${hash}`);
}
