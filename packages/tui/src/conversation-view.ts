/** The lines above the editor: a bounded stretch of the conversation, kept as long as nothing in it changes. */

import { TERMINAL_LIMITS } from "./limits.ts";
import type { ThemeContext } from "./theme-context.ts";
import { type ItemView, itemLines } from "./transcript/item-lines.ts";
import type { Transcript } from "./transcript/transcript.ts";

export interface ConversationView {
  lines(transcript: Transcript, view: ItemView): readonly string[];
  /** From now on only what fits into so many lines. */
  shorten(lines: number): void;
}

export function conversationView(context: ThemeContext): ConversationView {
  const draw = itemLines(context);
  let of: Transcript | undefined;
  let first = 0; // items before this one have scrolled out of reach
  let most: number = TERMINAL_LIMITS.lines;
  let kept: { readonly key: string; readonly lines: readonly string[] } | undefined;

  /** Cards of tools stand close together. */
  const all = (transcript: Transcript, view: ItemView): readonly (readonly string[])[] => {
    const items = transcript.items.slice(Math.max(0, first - transcript.dropped));
    return items.map((item, at) => {
      const lines = draw(item, view);
      return item.type === "tool" && items[at - 1]?.type === "tool" ? lines.slice(1) : lines;
    });
  };

  /** In large pieces, because each one moves everything. */
  const cut = (pieces: readonly (readonly string[])[], transcript: Transcript): readonly (readonly string[])[] => {
    let count = pieces.reduce((sum, { length }) => sum + length, 0);
    if (count <= most) return pieces;
    let from = 0;
    while (from < pieces.length - 1 && count > most / 2) count -= pieces[from++]?.length ?? 0;
    first = Math.max(first, transcript.dropped) + from;
    return pieces.slice(from);
  };

  return {
    lines(transcript, view) {
      if (of !== transcript) {
        of = transcript;
        first = 0;
        kept = undefined;
      }
      const key = `${transcript.version}/${view.width}/${view.unfolded}/${context.version}/${most}`;
      if (kept?.key === key) return kept.lines;
      const pieces = cut(all(transcript, view), transcript);
      most = TERMINAL_LIMITS.lines;
      const isCut = first > 0 || transcript.dropped > 0;
      const lines = [
        ...(isCut ? [context.style("dim", "(what came before is not shown here)")] : []),
        ...pieces.flat(),
      ];
      kept = { key: `${transcript.version}/${view.width}/${view.unfolded}/${context.version}/${most}`, lines };
      return lines;
    },
    shorten(lines) {
      most = Math.max(1, lines);
    },
  };
}
