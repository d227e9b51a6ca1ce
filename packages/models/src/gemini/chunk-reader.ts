/** Cuts the body into events. An error in the middle of a stream comes as bare JSON where an event was expected. */

import { parseJson } from "../provider/json.ts";
import { sseReader, type SseReader } from "../sse.ts";

const LF = 10;
/** No line of an event begins with these. */
const JSON_STARTS: readonly string[] = ["{", "["];
/** An error is far smaller. */
const MAX_ERROR_CHARACTERS = 64 * 1024;

export function chunkReader(): SseReader {
  const events = sseReader();
  let atLineStart = true;
  /** The bare JSON so far; undefined outside of one. */
  let bare: string | undefined;
  return {
    push(chunk) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      const from = bare === undefined ? bareStart(bytes, atLineStart) : 0;
      if (from === -1) {
        if (bytes.length > 0) atLineStart = bytes[bytes.length - 1] === LF;
        return events.push(chunk);
      }
      const before = from === 0 ? [] : events.push(chunk.subarray(0, from));
      // A character that is cut between two chunks is lost: of an error's text that does not matter.
      bare = (bare ?? "") + bytes.toString("utf8", from);
      const whole = bare.length <= MAX_ERROR_CHARACTERS && /[}\]]\s*$/.test(bare) && parseJson(bare) !== undefined;
      return whole ? [...before, { data: bare }] : before;
    },
  };
}

/** Where a line begins that is JSON and no field of an event; -1 when none does. */
function bareStart(bytes: Buffer, atLineStart: boolean): number {
  if (atLineStart && JSON_STARTS.includes(String.fromCharCode(bytes[0] ?? 0))) return 0;
  const starts = JSON_STARTS.map((start) => bytes.indexOf(`\n${start}`)).filter((index) => index !== -1);
  return starts.length === 0 ? -1 : Math.min(...starts) + 1;
}
