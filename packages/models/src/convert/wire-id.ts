/** Ids of calls for formats that allow few characters. */

import { derivedId } from "../provider/call.ts";

const WIRE_ID = /^[a-zA-Z0-9_-]{1,40}$/;

/** The id itself where every provider takes it, else one made of it: the same for a call and its result. */
export function wireId(callId: string): string {
  return WIRE_ID.test(callId) ? callId : derivedId(callId);
}
