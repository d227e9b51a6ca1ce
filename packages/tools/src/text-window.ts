/** Keeps the first and the last characters of a text of any length. */

import { droppedMarker } from "./workspaces/output-window.ts";

export type TextWindow = {
  push(chunk: string): void;
  /** What was kept, with a line that counts what was not. */
  text(): string;
  readonly truncated: boolean;
};

/** `limit` in UTF-16 units: half for the start, half for the end, neither cut inside a character. */
export function textWindow(limit: number): TextWindow {
  const headLimit = Math.ceil(limit / 2);
  const tailLimit = Math.floor(limit / 2);
  let head = "";
  let tail = "";
  let total = 0;
  const isCut = (): boolean => total > limit;
  return {
    push(chunk) {
      total += chunk.length;
      const first = chunk.slice(0, headLimit - head.length);
      head += first;
      tail = (tail + chunk.slice(first.length)).slice(-tailLimit || Number.MAX_SAFE_INTEGER);
    },
    text() {
      if (!isCut()) return head + tail;
      const start = head.isWellFormed() ? head : head.slice(0, -1);
      const end = tail.isWellFormed() ? tail : tail.slice(1);
      return start + droppedMarker(total - start.length - end.length, "characters") + end;
    },
    get truncated() {
      return isCut();
    },
  };
}
