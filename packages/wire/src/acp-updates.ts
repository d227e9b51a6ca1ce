/** Capstan's events as ACP session updates: what an editor shows of one session, live or from the log. */

import { type Envelope, type Event, type FactOf, INTERRUPT_MARKER, type Message, type ToolKind } from "@capstan/core";
import { acpBlocksOf, acpContentOf } from "./acp-blocks.ts";
import { ACP_WIRE_LIMITS as LIMITS } from "./acp-limits.ts";
import { ShownText } from "./acp-shown-text.ts";
import type { AcpLocation, AcpPlanEntry, AcpSessionUpdate, AcpToolContent, AcpToolKind } from "./acp-wire.ts";

export type AcpUpdatesOptions = {
  /** Absolute path of a path of the session. */
  readonly absolute: (path: string) => string;
  /** Of a tool, as far as it is known before the call begins. */
  readonly kindOf?: (name: string) => ToolKind | undefined;
  /** What the client said it can show beside the rest. */
  readonly notices?: boolean;
  readonly compaction?: boolean;
  /** Inputs that the client sent itself: it shows them already. */
  readonly isOwnInput?: (inputId: string) => boolean;
};
/** Takes the events of one session in order, each once. Those of its sub-agents show in the call that started them. */
export type AcpUpdates = { push(envelope: Envelope): readonly AcpSessionUpdate[] };

export function acpUpdates(options: AcpUpdatesOptions): AcpUpdates {
  return new Updates(options);
}

/** `committed`: part of an answer that the conversation keeps. */
type Call = { output: string; committed: boolean; finished: boolean };

class Updates implements AcpUpdates {
  readonly #options: AcpUpdatesOptions;
  readonly #text: ShownText = new ShownText();
  readonly #calls = new Map<string, Call>();

  constructor(options: AcpUpdatesOptions) {
    this.#options = options;
  }

  push({ event, parent }: Envelope): readonly AcpSessionUpdate[] {
    return parent === undefined ? this.#own(event) : this.#ofChild(parent.callId, event);
  }

  #own(event: Event): readonly AcpSessionUpdate[] {
    switch (event.type) {
      case "text.delta":
      case "reasoning.delta":
        return this.#text.delta(event);
      case "block.started":
        return this.#started(event);
      case "block.finished":
        if (event.part.type !== "tool-call" || !this.#calls.has(event.part.callId)) return [];
        return [update(event.part.callId, { rawInput: event.part.input })];
      case "message.added":
        return event.message.role === "assistant" ? this.#answer(event.message) : this.#said(event);
      case "turn.reset":
        return this.#reset(event.error.message);
      case "turn.finished":
        return this.#dropped("Not called.");
      case "run.finished":
        return this.#runEnd();
      case "tool.started":
      case "tool.progress":
      case "tool.finished":
        return this.#tool(event);
      default:
        return this.#about(event);
    }
  }

  /** What is said of the session itself. */
  #about(event: Event): readonly AcpSessionUpdate[] {
    switch (event.type) {
      case "plan.updated":
        return [{ sessionUpdate: "plan", entries: event.entries.map((entry) => planEntry(entry)) }];
      case "session.updated":
        if (event.title === undefined) return [];
        return [{ sessionUpdate: "session_info_update", title: event.title, updatedAt: isoTime(event.at) }];
      case "usage.updated": {
        const { contextTokens: used, contextSize: size, session } = event;
        if (size === 0) return [];
        const cost = session.costMicroUsd;
        const paid = cost === undefined ? {} : { cost: { amount: cost / 1_000_000, currency: "USD" } };
        return [{ sessionUpdate: "usage_update", used, size, ...paid }];
      }
      case "notice": {
        if (this.#options.notices !== true) return [];
        const { severity, title, detail } = event;
        return [{ sessionUpdate: "notice", severity, title, ...(detail !== undefined && { description: detail }) }];
      }
      case "context.compacted":
        if (this.#options.compaction !== true) return [];
        return [
          {
            sessionUpdate: "compaction_update",
            compactionId: `compaction-${event.seq}`,
            status: "completed",
            summary: acpBlocksOf(event.summary),
          },
        ];
      default:
        return [];
    }
  }

  #started(event: Extract<Event, { type: "block.started" }>): readonly AcpSessionUpdate[] {
    const { block, blockId, messageId } = event;
    if (block.type !== "tool-input") {
      this.#text.start(blockId, messageId, block.type);
      return [];
    }
    return this.#announce(block.callId, block.name);
  }

  #announce(callId: string, name: string, more: { readonly rawInput?: unknown } = {}): readonly AcpSessionUpdate[] {
    const committed = more.rawInput !== undefined;
    const known = this.#calls.get(callId);
    if (known !== undefined) {
      known.committed ||= committed;
      return committed ? [update(callId, more)] : [];
    }
    forgetOldest(this.#calls);
    this.#calls.set(callId, { output: "", committed, finished: false });
    const kind = this.#options.kindOf?.(name);
    const ofKind = kind === undefined ? {} : { kind: acpToolKind(kind) };
    return [
      { sessionUpdate: "tool_call", toolCallId: callId, title: name, name, ...ofKind, status: "pending", ...more },
    ];
  }

  /** What no delta has shown yet: all of it when it comes from the log. */
  #answer({ id, parts }: Message): readonly AcpSessionUpdate[] {
    const kept = parts.filter((part) => part.type !== "text" || part.text !== INTERRUPT_MARKER);
    const calls = kept.flatMap((part) => (part.type === "tool-call" ? [part] : []));
    return [
      ...this.#text.rest(id, kept),
      ...kept
        .flatMap((part) => (part.type === "file" ? acpBlocksOf([part]) : []))
        .map((content) => {
          return { sessionUpdate: "agent_message_chunk" as const, content, messageId: id };
        }),
      ...calls.flatMap(({ callId, name, input }) => this.#announce(callId, name, { rawInput: input })),
    ];
  }

  #said({ inputId, message }: FactOf<"message.added">): readonly AcpSessionUpdate[] {
    if (message.role !== "user" || inputId === undefined || this.#options.isOwnInput?.(inputId) === true) return [];
    return acpBlocksOf(message.parts).map((content) => {
      return { sessionUpdate: "user_message_chunk", content, messageId: message.id };
    });
  }

  /** ACP has no way to take text back: the answer begins again as another message. */
  #reset(why: string): readonly AcpSessionUpdate[] {
    const shown = this.#text.reset();
    const ends = this.#dropped("The model's answer was lost; it begins again.");
    if (!shown || this.#options.notices !== true) return ends;
    const title = "The answer begins again";
    return [...ends, { sessionUpdate: "notice", severity: "warning", title, description: why }];
  }

  /** Calls that the model had begun to write and that are not part of its answer. */
  #dropped(why: string): readonly AcpSessionUpdate[] {
    const lost = [...this.#calls].filter(([, { committed }]) => !committed);
    return lost.map(([callId]) => {
      this.#calls.delete(callId);
      return update(callId, { status: "failed", content: [textContent(why)] });
    });
  }

  #runEnd(): readonly AcpSessionUpdate[] {
    const ends = this.#dropped("Not called.");
    this.#calls.clear();
    this.#text.forget();
    return ends;
  }

  #tool(
    event: Extract<Event, { type: "tool.started" | "tool.progress" | "tool.finished" }>,
  ): readonly AcpSessionUpdate[] {
    if (event.type === "tool.started") {
      const { callId, name, title, kind, input, locations } = event;
      const known = this.#calls.get(callId);
      if (known !== undefined) known.committed = true;
      return [
        ...(known === undefined ? this.#announce(callId, name, { rawInput: input }) : []),
        update(callId, {
          status: "in_progress",
          rawInput: input,
          title: title.slice(0, LIMITS.titleCharacters).toWellFormed(),
          kind: acpToolKind(kind),
          ...(locations !== undefined && { locations: this.#locations(locations) }),
        }),
      ];
    }
    if (event.type === "tool.progress") return this.#progress(event.callId, event.chunk, event.message);
    const { callId, name, status, output } = event;
    const call = this.#calls.get(callId);
    if (call !== undefined) Object.assign(call, { finished: true, output: "" });
    const end = {
      status: status === "ok" ? ("completed" as const) : ("failed" as const),
      content: acpContentOf(output, this.#options.absolute),
      ...(output.output !== undefined && { rawOutput: output.output }),
    };
    return [...(call === undefined ? this.#announce(callId, name, { rawInput: {} }) : []), update(callId, end)];
  }

  #progress(callId: string, chunk: string | undefined, message: string | undefined): readonly AcpSessionUpdate[] {
    const call = this.#calls.get(callId);
    const more = chunk ?? (message === undefined ? "" : `${message}\n`);
    if (call === undefined || call.finished || more === "") return [];
    call.output = `${call.output}${more}`.slice(-LIMITS.progressCharacters).toWellFormed();
    return [update(callId, { content: [textContent(call.output)] })];
  }

  /** The work of a sub-agent, a line for each call that it makes. */
  #ofChild(callId: string, event: Event): readonly AcpSessionUpdate[] {
    if (event.type !== "tool.started") return [];
    return this.#progress(callId, undefined, event.title.slice(0, LIMITS.titleCharacters));
  }

  #locations(locations: readonly { readonly path: string; readonly line?: number }[]): readonly AcpLocation[] {
    return locations.map(({ path, line }) => {
      return { path: this.#options.absolute(path), ...(line !== undefined && { line }) };
    });
  }
}

export function acpToolKind(kind: ToolKind): AcpToolKind {
  return kind === "switch-mode" ? "switch_mode" : kind;
}

function update(
  toolCallId: string,
  change: Omit<Extract<AcpSessionUpdate, { sessionUpdate: "tool_call_update" }>, "sessionUpdate" | "toolCallId">,
): AcpSessionUpdate {
  return { sessionUpdate: "tool_call_update", toolCallId, ...change };
}

function textContent(text: string): AcpToolContent {
  return { type: "content", content: { type: "text", text } };
}

/** ACP knows no entry that was given up. */
function planEntry({ content, priority, status }: FactOf<"plan.updated">["entries"][number]): AcpPlanEntry {
  const known = status === "in-progress" ? "in_progress" : status === "cancelled" ? "completed" : status;
  return { content, priority, status: known };
}

function isoTime(at: number): string {
  return new Date(at).toISOString();
}

function forgetOldest(calls: Map<string, Call>): void {
  const [oldest] = calls.keys();
  if (oldest !== undefined && calls.size >= LIMITS.remembered) calls.delete(oldest);
}
