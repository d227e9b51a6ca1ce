/** Ids of calls for formats that allow few characters. */

import { sha256 } from "@capstan/core";

const WIRE_ID = /^[a-zA-Z0-9_-]{1,40}$/;

/** The id itself where every provider takes it, else one made of it: the same for a call and its result. */
export function wireId(callId: string): string {
  return WIRE_ID.test(callId) ? callId : `call_${sha256(callId).slice(0, 24)}`;
}
