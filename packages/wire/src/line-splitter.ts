/** Bytes into lines, whatever pieces they come in. One that is too long or no UTF-8 is told as such, and the next one is whole again. */

import { WIRE_LIMITS } from "./wire-limits.ts";

export type Line = { readonly type: "line"; readonly text: string } | { readonly type: "too-long" | "not-utf8" };
export type LineSplitter = {
  push(bytes: Uint8Array): readonly Line[];
  /** What came after the last line break. */
  end(): readonly Line[];
};

const NEWLINE = 0x0a;

/** Empty lines are left out. Holds at most one line. */
export function lineSplitter(maxBytes: number = WIRE_LIMITS.lineBytes): LineSplitter {
  let pieces: Uint8Array[] = [];
  let size = 0;
  let skipping = false;
  const take = (piece: Uint8Array): void => {
    size += piece.length;
    if (size > maxBytes) {
      skipping = true;
      pieces = [];
    } else if (piece.length > 0) pieces.push(piece);
  };
  const finish = (): readonly Line[] => {
    const [whole, wasTooLong] = [pieces, skipping];
    pieces = [];
    size = 0;
    skipping = false;
    if (wasTooLong) return [{ type: "too-long" }];
    return decoded(whole.length === 1 && whole[0] !== undefined ? whole[0] : Buffer.concat(whole));
  };
  return {
    push(bytes) {
      const lines: Line[] = [];
      let from = 0;
      for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, from)) {
        take(bytes.subarray(from, at));
        lines.push(...finish());
        from = at + 1;
      }
      if (from < bytes.length) take(Uint8Array.from(bytes.subarray(from))); // a copy: the reader may use its buffer again
      return lines;
    },
    end: finish,
  };
}

function decoded(bytes: Uint8Array): readonly Line[] {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes).trim();
    return text === "" ? [] : [{ type: "line", text }];
  } catch {
    return [{ type: "not-utf8" }];
  }
}
