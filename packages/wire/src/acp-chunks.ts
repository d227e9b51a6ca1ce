/** The session updates of one prompt as UI message chunks: a stream that `ai`'s own reader takes. */

import { ACP_WIRE_LIMITS as LIMITS } from "./acp-limits.ts";
import { uiPartOf } from "./acp-ui-message.ts";
import type {
  AcpContentBlock,
  AcpSessionUpdate,
  AcpStopReason,
  AcpToolCallUpdate,
  AcpToolContent,
} from "./acp-wire.ts";
import type { UiChunk } from "./ui-chunk.ts";

export type AcpChunks = {
  push(update: AcpSessionUpdate): readonly UiChunk[];
  /** A question about a call, and its answer. */
  asked(approvalId: string, toolCall: AcpToolCallUpdate): readonly UiChunk[];
  answered(approvalId: string, approved: boolean, reason?: string): readonly UiChunk[];
  end(stopReason: AcpStopReason): readonly UiChunk[];
  failed(errorText: string): readonly UiChunk[];
};

/** `messageId` names the message of the assistant that these chunks build, behind `{ type: "start", messageId }`. */
export function acpChunks(messageId: string): AcpChunks {
  return new Chunks(messageId);
}

type Kind = "text" | "reasoning";
type Open = { readonly kind: Kind; readonly id: string; readonly messageId: string | undefined };
type Call = { readonly toolName: string; title: string; hasInput: boolean; finished: boolean };

class Chunks implements AcpChunks {
  readonly #messageId: string;
  readonly #calls = new Map<string, Call>();
  #open: Open | undefined;
  #made = 0;

  constructor(messageId: string) {
    this.#messageId = messageId;
  }

  push(update: AcpSessionUpdate): readonly UiChunk[] {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        return this.#content("text", update.content, update.messageId ?? undefined);
      case "agent_thought_chunk":
        return this.#content("reasoning", update.content, update.messageId ?? undefined);
      case "user_message_chunk":
        return []; // of the person's own message
      case "tool_call":
      case "tool_call_update":
        return [...this.#close(), ...this.#tool(update)];
      case "plan":
        return [{ type: "data-plan", id: "plan", data: { entries: update.entries } }];
      case "available_commands_update":
        return [{ type: "data-commands", data: { commands: update.availableCommands }, transient: true }];
      case "current_mode_update":
        return [{ type: "data-mode", data: { modeId: update.currentModeId }, transient: true }];
      case "config_option_update":
        return [{ type: "data-config", data: { options: update.configOptions }, transient: true }];
      case "session_info_update":
      case "usage_update":
      case "notice":
      case "compaction_update":
        return [ofSession(update)];
      default:
        update satisfies never; // a newer agent may send what is not known here
        return [];
    }
  }

  asked(approvalId: string, toolCall: AcpToolCallUpdate): readonly UiChunk[] {
    const chunks = [...this.#close(), ...this.#begin(toolCall), ...this.#input(toolCall)];
    if (!this.#calls.has(toolCall.toolCallId)) return chunks; // one too many
    return [...chunks, { type: "tool-approval-request", approvalId, toolCallId: toolCall.toolCallId }];
  }

  answered(approvalId: string, approved: boolean, reason?: string): readonly UiChunk[] {
    return [{ type: "tool-approval-response", approvalId, approved, ...(reason !== undefined && { reason }) }];
  }

  end(stopReason: AcpStopReason): readonly UiChunk[] {
    const left = [...this.#close(), ...this.#unfinished("It did not end.")];
    if (stopReason === "cancelled") return [...left, { type: "abort" }];
    return [...left, { type: "finish", finishReason: REASONS[stopReason] }];
  }

  failed(errorText: string): readonly UiChunk[] {
    const left = [...this.#close(), ...this.#unfinished("The agent was lost.")];
    return [...left, { type: "error", errorText }, { type: "finish", finishReason: "error" }];
  }

  #content(kind: Kind, block: AcpContentBlock, messageId: string | undefined): readonly UiChunk[] {
    const part = uiPartOf(block, `${this.#messageId}/source/${this.#made + 1}`);
    if (part === undefined) return [];
    if (part.type === "file") return [...this.#close(), { type: "file", url: part.url, mediaType: part.mediaType }];
    if (part.type === "source-url") {
      this.#made += 1;
      return [...this.#close(), part];
    }
    if (part.text === "") return [];
    const known = this.#open;
    const same = known?.kind === kind && (messageId === undefined || known.messageId === messageId);
    const begun = same ? [] : this.#start(kind, messageId);
    return [...begun, { type: `${kind}-delta`, id: this.#open?.id ?? "", delta: part.text }];
  }

  #start(kind: Kind, messageId: string | undefined): readonly UiChunk[] {
    const closed = this.#close();
    this.#made += 1;
    this.#open = { kind, id: `${this.#messageId}/${this.#made}`, messageId };
    return [...closed, { type: `${kind}-start`, id: this.#open.id }];
  }

  #close(): readonly UiChunk[] {
    const open = this.#open;
    this.#open = undefined;
    return open === undefined ? [] : [{ type: `${open.kind}-end`, id: open.id }];
  }

  #begin({ toolCallId, name, kind, title }: AcpToolCallUpdate): readonly UiChunk[] {
    const known = this.#calls.get(toolCallId);
    if (known !== undefined) {
      if (typeof title === "string") known.title = title;
      return [];
    }
    if (this.#calls.size >= LIMITS.remembered) return [];
    const toolName = name ?? kind ?? "tool";
    const call: Call = { toolName, title: title ?? toolName, hasInput: false, finished: false };
    this.#calls.set(toolCallId, call);
    return [{ type: "tool-input-start", toolCallId, toolName, dynamic: true, title: call.title }];
  }

  #input({ toolCallId, rawInput }: AcpToolCallUpdate): readonly UiChunk[] {
    const call = this.#calls.get(toolCallId);
    if (call === undefined || call.finished || (call.hasInput && rawInput === undefined)) return [];
    call.hasInput = true;
    const { toolName, title } = call;
    return [{ type: "tool-input-available", toolCallId, toolName, input: rawInput ?? {}, dynamic: true, title }];
  }

  #tool(update: AcpToolCallUpdate): readonly UiChunk[] {
    const { toolCallId, status, content, rawInput, rawOutput } = update;
    const begun = this.#begin(update);
    const call = this.#calls.get(toolCallId);
    if (call === undefined || call.finished) return begun;
    const ended = status === "completed" || status === "failed";
    const shown = (content ?? []).length > 0;
    const goesOn = ended || shown || rawInput !== undefined || status === "in_progress";
    const input = goesOn ? this.#input(update) : [];
    if (!ended && !shown) return [...begun, ...input];
    if (ended) call.finished = true;
    if (status === "failed")
      return [
        ...begun,
        ...input,
        { type: "tool-output-error", toolCallId, errorText: textOfContent(content ?? []), dynamic: true },
      ];
    const output = { content: content ?? [], ...(rawOutput !== undefined && { rawOutput }) };
    const preliminary = ended ? {} : { preliminary: true };
    return [...begun, ...input, { type: "tool-output-available", toolCallId, output, dynamic: true, ...preliminary }];
  }

  #unfinished(why: string): readonly UiChunk[] {
    return [...this.#calls].flatMap(([toolCallId, call]): readonly UiChunk[] => {
      if (call.finished) return [];
      const input = this.#input({ toolCallId });
      call.finished = true;
      return [...input, { type: "tool-output-error", toolCallId, errorText: why, dynamic: true }];
    });
  }
}

const REASONS = {
  end_turn: "stop",
  max_tokens: "length",
  max_turn_requests: "length",
  refusal: "content-filter",
} as const satisfies Record<Exclude<AcpStopReason, "cancelled">, string>;

type OfSession = Extract<
  AcpSessionUpdate,
  { sessionUpdate: "session_info_update" | "usage_update" | "notice" | "compaction_update" }
>;

function ofSession(update: OfSession): UiChunk {
  const { sessionUpdate, ...data } = update;
  switch (sessionUpdate) {
    case "session_info_update":
      return { type: "data-session", id: "session", data };
    case "usage_update":
      return { type: "data-usage", id: "usage", data };
    case "compaction_update":
      return { type: "data-compaction", id: "compaction", data };
    case "notice":
      return { type: "data-notice", data, transient: true };
    default:
      return sessionUpdate satisfies never;
  }
}

/** All that a tool's content says in words. */
export function textOfContent(content: readonly AcpToolContent[]): string {
  const texts = content.map((item) => {
    if (item.type === "diff") return `(a change of ${item.path})`;
    if (item.type !== "content") return "";
    return item.content.type === "text" ? item.content.text : `(${item.content.type})`;
  });
  const said = texts.filter((text) => text !== "").join("\n");
  return said === "" ? "It failed." : said;
}
