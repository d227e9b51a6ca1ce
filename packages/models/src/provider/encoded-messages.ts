/** The messages of a conversation in a provider's words: each encoded once and kept by identity, ids of calls kept in step. */

import type { Message, ToolCallPart } from "@capstan/core";
import { derivedId, ownSeal } from "./call.ts";
import { type Blobs, blobsOf, loadBlobs } from "./files.ts";
import { memberOf } from "./json.ts";

export type EncodeContext = {
  readonly blobs: Blobs;
  /** The id under which a call goes out: the provider's own when `seal` holds one that is still free, else one made of `callId`. */
  readonly idOfCall: (part: ToolCallPart) => string;
  /** The id under which that call went out. */
  readonly idOfResult: (callId: string) => string;
};

/** Encodes one message: its JSON text, alone or with what the provider has to know of it to join it with others. */
export type EncodeMessage<Made> = (message: Message, context: EncodeContext) => Made;

type Encoded<Made> = { readonly made: Made; readonly ids: Ids };
/** Ids that a text depends on: those it gave to calls and those it answers. */
type Ids = readonly (readonly [callId: string, id: string, own: string | undefined])[];

/** How far a conversation has been encoded. The next turn goes on from there as long as its beginning is the same. */
type Walk<Made> = { readonly messages: Message[]; readonly made: Made[]; readonly ids: CallIds };

/**
 * One encoder a model. `provider` names the seals whose `id` may be used again. What is made is in the order of the
 * messages; a message that stays the same object is not encoded again.
 */
export function messageEncoder<Made>(
  provider: string,
  encode: EncodeMessage<Made>,
): (messages: readonly Message[], load: (hash: string) => Promise<Uint8Array>) => Promise<readonly Made[]> {
  const known = new WeakMap<Message, Encoded<Made>>();
  /** By the first message of the conversation. A walk that is in use is not in it. */
  const walks = new WeakMap<Message, Walk<Made>>();

  function takeWalk(messages: readonly Message[]): Walk<Made> {
    const [first] = messages;
    const walk = first === undefined ? undefined : walks.get(first);
    if (first === undefined || walk === undefined || !startsWith(messages, walk.messages))
      return { messages: [], made: [], ids: new CallIds(provider) };
    walks.delete(first);
    return walk;
  }

  return async (messages, load) => {
    const walk = takeWalk(messages);
    for (const message of messages.slice(walk.messages.length)) {
      const found = known.get(message);
      let encoded = found !== undefined && walk.ids.fits(found.ids) ? found : undefined;
      if (encoded === undefined) {
        const hashes = blobsOf(message);
        const blobs = hashes.length === 0 ? NO_BLOBS : await loadBlobs(hashes, load);
        encoded = walk.ids.record((context) => encode(message, { ...context, blobs }));
        known.set(message, encoded);
      }
      walk.messages.push(message);
      walk.made.push(encoded.made);
    }
    const [first] = messages;
    if (first !== undefined) walks.set(first, walk);
    return [...walk.made];
  };
}

const NO_BLOBS: Blobs = new Map();

/** Whether the conversation goes on from `beginning`: by identity, from its end, where a change is likeliest. */
function startsWith(messages: readonly Message[], beginning: readonly Message[]): boolean {
  if (beginning.length > messages.length) return false;
  for (let at = beginning.length - 1; at >= 0; at--) if (messages[at] !== beginning[at]) return false;
  return true;
}

/** Ids of one conversation's calls, unique in it. */
class CallIds {
  readonly #provider: string;
  readonly #byCall = new Map<string, string>();
  readonly #used = new Set<string>();
  #seen: [string, string, string | undefined][] = [];

  constructor(provider: string) {
    this.#provider = provider;
  }

  record<Made>(encode: (context: Omit<EncodeContext, "blobs">) => Made): Encoded<Made> {
    this.#seen = [];
    const made = encode({
      idOfCall: (part) => this.#give(part.callId, ownId(part, this.#provider)),
      idOfResult: (callId) => this.#find(callId),
    });
    return { made, ids: this.#seen };
  }

  /** Whether a text encoded before names the ids that it would name now; if so they count as given. */
  fits(ids: Ids): boolean {
    for (const [callId, id, own] of ids) {
      const now = own === undefined ? this.#named(callId) : this.#choice(callId, own);
      if (now !== id) return false;
    }
    for (const [callId, id, own] of ids) if (own !== undefined) this.#take(callId, id);
    return true;
  }

  #give(callId: string, own: string): string {
    const id = this.#choice(callId, own);
    this.#take(callId, id);
    this.#seen.push([callId, id, own]);
    return id;
  }

  #choice(callId: string, own: string): string {
    return own === "" || this.#used.has(own) ? derivedId(callId) : own;
  }

  #take(callId: string, id: string): void {
    this.#byCall.set(callId, id);
    this.#used.add(id);
  }

  #find(callId: string): string {
    const id = this.#named(callId);
    this.#seen.push([callId, id, undefined]);
    return id;
  }

  #named(callId: string): string {
    return this.#byCall.get(callId) ?? derivedId(callId);
  }
}

const WIRE_ID = /^[a-zA-Z0-9_-]{1,64}$/;

/** "" when the part has no id of this provider that can be used. */
function ownId(part: ToolCallPart, provider: string): string {
  const id = memberOf(ownSeal(part.seal, provider), "id");
  return typeof id === "string" && WIRE_ID.test(id) ? id : "";
}
