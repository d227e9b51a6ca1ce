/** What a live event changes in the conversation. Pure. */

import type { Live } from "@capstan/core";
import { TERMINAL_LIMITS } from "../limits.ts";
import type { Item, NoteItem } from "./item.ts";
import { blankTool } from "./tool-items.ts";

export type LiveChange =
  | { readonly type: "item"; readonly item: Item }
  | { readonly type: "context"; readonly tokens: number; readonly size: number }
  | { readonly type: "reset"; readonly note: NoteItem | undefined };

/** `at` finds what stands there already. */
export function liveEvent(event: Live, at: (id: string) => Item | undefined): LiveChange | undefined {
  switch (event.type) {
    case "block.started": {
      const { block, blockId } = event;
      if (block.type === "tool-input")
        return { type: "item", item: { ...blankTool(blockId, block.name), live: true, status: "writing" } };
      return { type: "item", item: { type: block.type, id: blockId, text: "", live: true } };
    }
    case "text.delta":
    case "reasoning.delta": {
      const item = at(event.blockId);
      const type = event.type === "text.delta" ? "text" : "reasoning";
      const before = item?.type === type ? item.text : "";
      if (before.length >= TERMINAL_LIMITS.textCharacters) return undefined;
      return {
        type: "item",
        item: { type, id: event.blockId, text: before.slice(0, event.offset) + event.delta, live: true },
      };
    }
    case "tool-input.delta": {
      const item = at(event.blockId);
      if (item?.type !== "tool") return undefined;
      const progress = (item.progress.slice(0, event.offset) + event.delta).slice(
        0,
        TERMINAL_LIMITS.progressCharacters,
      );
      return { type: "item", item: { ...item, progress } };
    }
    case "tool.progress":
      return progressed(event, at(event.callId));
    case "turn.reset":
      return { type: "reset", note: resetNote(event) };
    case "usage.updated":
      return { type: "context", tokens: event.contextTokens, size: event.contextSize };
    case "notice":
      return noticed(event);
    default:
      return undefined;
  }
}

function progressed(event: Extract<Live, { type: "tool.progress" }>, item: Item | undefined): LiveChange | undefined {
  if (item?.type !== "tool") return undefined;
  const { chunk, message, progress, total } = event;
  if (chunk !== undefined)
    return {
      type: "item",
      item: { ...item, progress: (item.progress + chunk).slice(-TERMINAL_LIMITS.progressCharacters) },
    };
  const share = progress === undefined ? "" : total === undefined ? String(progress) : `${progress}/${total}`;
  const said = [share, message ?? ""].filter((piece) => piece !== "").join(" ");
  return { type: "item", item: { ...item, progress: said } };
}

function resetNote({ error, delayMs, seq, eph }: Extract<Live, { type: "turn.reset" }>): NoteItem {
  const wait = delayMs > 0 ? `in ${Math.max(0.1, Math.round(delayMs / 100) / 10)} s` : "now";
  return {
    type: "note",
    id: `live/${seq}.${eph}`,
    severity: "warning",
    text: `${error.message.replace(/\.$/, "")} (${error.code}); trying again ${wait}`,
  };
}

/** Information that needs nothing done is not shown, but for what a command answers. */
function noticed({
  severity,
  code,
  title,
  detail,
  seq,
  eph,
}: Extract<Live, { type: "notice" }>): LiveChange | undefined {
  if (code === "request-open") return undefined; // the request itself is shown
  if (severity === "info" && title !== "Command") return undefined;
  const text = [title, detail ?? ""].filter((piece) => piece !== "").join(": ");
  return { type: "item", item: { type: "note", id: `live/${seq}.${eph}`, severity, text } };
}
