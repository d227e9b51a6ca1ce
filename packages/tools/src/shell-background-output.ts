/** The last characters of an output that goes on, read by position: whoever reads from where he stopped misses nothing silently. */

import { cutAt } from "./tool-answer.ts";
import { droppedMarker } from "./workspaces/output-window.ts";

export type OutputTail = {
  push(chunk: string): void;
  /** UTF-16 units that came so far: the position after the last one. */
  readonly length: number;
  /** At most `limit` units from `position` on, and the position after them. What is no longer kept is counted. */
  from(position: number, limit: number): { readonly text: string; readonly next: number };
};

export function outputTail(limit: number): OutputTail {
  let kept = "";
  let length = 0;
  return {
    push(chunk) {
      length += chunk.length;
      kept += chunk;
      if (kept.length > 2 * limit) kept = kept.slice(-limit); // cut seldom: a cut copies
    },
    get length() {
      return length;
    },
    from(position, most) {
      const first = length - Math.min(kept.length, limit);
      const start = Math.min(Math.max(position, 0), length);
      const begin = Math.max(start, first);
      const rest = kept.slice(kept.length - (length - begin));
      const text = cutAt(rest, most);
      const lost = begin - start;
      return {
        text: (lost > 0 ? droppedMarker(lost, "characters") : "") + text.toWellFormed(),
        next: begin + text.length,
      };
    },
  };
}
