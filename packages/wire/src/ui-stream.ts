/** One run as an AI SDK UI message stream: envelopes in, chunks out. The message id is the run's. */

import {
  type Envelope,
  type Event,
  type FactOf,
  type FilePart,
  isLive,
  type Live,
  type Part,
  type RequestBody,
  type StopReason,
  type Usage,
} from "@capstan/core";
import { type Screen, screen, type Shown, type ShownBlock } from "./screen.ts";
import { toolText, toolValue } from "./tool-text.ts";
import type { UiChunk, UiFile, UiFinishReason } from "./ui-chunk.ts";

export type UiStreamOptions = {
  readonly runId: string;
  /** The input that began the run: it is the client's own, and no steering. */
  readonly inputId?: string;
  /** Calls that the client's message shows already, when the stream goes on with a message. */
  readonly knownCalls?: Iterable<string>;
};

export interface UiStream {
  /** Events of the run's session, and of its sub-agents. After the end nothing comes. */
  push(envelope: Envelope): readonly UiChunk[];
  /** The answer is in other hands: ends the stream the way that clients send it on after. */
  wait(): readonly UiChunk[];
  /** The last chunk was given. */
  readonly ended: boolean;
  /** Requests that were shown and are open. */
  readonly openRequests: ReadonlySet<string>;
}

/** Of the output of a tool that runs, at most so much is shown while it does. */
export const PROGRESS_CHARS = 65_536;
const FIRST_PROGRESS_CHARS = 256;

export function uiStream(options: UiStreamOptions): UiStream {
  return new RunStream(options);
}

type Progress = { text: string; shownAt: number };

class RunStream implements UiStream {
  ended = false;
  readonly openRequests = new Set<string>();
  readonly #options: UiStreamOptions;
  readonly #screen: Screen = screen();
  readonly #calls: Set<string>;
  readonly #approvals = new Set<string>();
  readonly #progress = new Map<string, Progress>();
  #began = false;
  #step = false;
  #out: UiChunk[] = [];

  constructor(options: UiStreamOptions) {
    this.#options = options;
    this.#calls = new Set(options.knownCalls);
  }

  push({ event, parent }: Envelope): readonly UiChunk[] {
    if (this.ended) return [];
    this.#out = this.#began ? [] : [{ type: "start", messageId: this.#options.runId }];
    this.#began = true;
    if (parent !== undefined) this.#child(event);
    else for (const shown of this.#screen.push(event)) this.#show(shown);
    return this.#out;
  }

  wait(): readonly UiChunk[] {
    if (this.ended) return [];
    this.#out = this.#began ? [] : [{ type: "start", messageId: this.#options.runId }];
    this.#finish({ type: "finish", finishReason: "tool-calls" });
    return this.#out;
  }

  #show(shown: Shown): void {
    switch (shown.type) {
      case "turn-started":
        return this.#openStep();
      case "turn-reset":
        this.#add({ type: "reset-step" });
        if (shown.error !== undefined)
          this.#add({
            type: "data-notice",
            data: { code: shown.error.code, title: shown.error.message },
            transient: true,
          });
        return;
      case "block-started":
        return this.#startBlock(shown.block);
      case "block-delta":
        return this.#add(deltaOf(shown.block, shown.delta));
      case "block-finished":
        return this.#endBlock(shown.block, shown.part);
      case "part":
        return this.#part(shown.part);
      case "turn-finished":
        return this.#closeStep();
      case "event":
        return isLive(shown.event) ? this.#live(shown.event) : this.#fact(shown.event);
      default:
        return shown satisfies never;
    }
  }

  #add(...chunks: readonly UiChunk[]): void {
    this.#out.push(...chunks);
  }

  #openStep(): void {
    this.#closeStep();
    this.#step = true;
    this.#add({ type: "start-step" });
  }

  #closeStep(): void {
    if (this.#step) this.#add({ type: "finish-step" });
    this.#step = false;
  }

  #finish(...chunks: readonly UiChunk[]): void {
    this.#closeStep();
    this.#add(...chunks);
    this.ended = true;
  }

  #startBlock({ id, kind, callId = id, name = "" }: ShownBlock): void {
    if (kind !== "tool-input") return this.#add({ type: `${kind}-start`, id });
    this.#calls.add(callId);
    this.#add({ type: "tool-input-start", toolCallId: callId, toolName: name, dynamic: true });
  }

  #endBlock({ id, kind, callId = id }: ShownBlock, part: Part): void {
    if (kind !== "tool-input") return this.#add({ type: `${kind}-end`, id });
    if (part.type !== "tool-call") return;
    const { name, input, by } = part;
    const elsewhere = by === "provider" ? { providerExecuted: true } : {};
    this.#add({ type: "tool-input-available", toolCallId: callId, toolName: name, input, dynamic: true, ...elsewhere });
  }

  #part(part: Part): void {
    if (part.type === "source" && part.url !== undefined) {
      const { id, url, title } = part;
      this.#add({ type: "source-url", sourceId: id, url, ...(title !== undefined && { title }) });
    } else if (part.type === "file") {
      const { mediaType, url } = fileOf(part);
      this.#add({ type: "file", mediaType, url });
    } else if (part.type === "tool-result") {
      const { callId: toolCallId, name, output } = part;
      this.#ensureCall(toolCallId, name);
      this.#add({ type: "tool-output-available", toolCallId, output: toolValue(output), dynamic: true });
    }
  }

  /** An output without its call ends the client's stream. */
  #ensureCall(toolCallId: string, toolName: string, input: unknown = {}): void {
    if (this.#calls.has(toolCallId)) return;
    this.#calls.add(toolCallId);
    this.#add({ type: "tool-input-available", toolCallId, toolName, input, dynamic: true });
  }

  #fact(event: Exclude<Event, Live>): void {
    switch (event.type) {
      case "message.added":
        return this.#steering(event);
      case "tool.started":
        return this.#ensureCall(event.callId, event.name, event.input);
      case "tool.finished":
        return this.#result(event);
      case "request.opened":
        return this.#opened(event);
      case "request.resolved":
        return this.#resolved(event);
      case "run.finished":
        return this.#end(event);
      case "input.withdrawn":
        if (event.inputId === this.#options.inputId) this.#finish({ type: "abort", reason: "withdrawn" });
        return;
      default:
        return this.#extension(event);
    }
  }

  /** What clients find in `data-*` parts; the newest of an id takes the place of the one before. */
  #extension(event: Exclude<Event, Live>): void {
    if (event.type === "session.updated") {
      const { title, metadata, mode, model } = event;
      this.#add({ type: "data-session", id: "session", data: { title, metadata, mode, model } });
    } else if (event.type === "plan.updated") {
      this.#add({ type: "data-plan", id: "plan", data: { entries: event.entries } });
    } else if (event.type === "task.started" || event.type === "task.finished") {
      const { type: _type, key: _key, seq: _seq, at: _at, ...data } = event;
      this.#add({ type: "data-task", id: event.taskId, data: { ...data, ended: event.type === "task.finished" } });
    } else if (event.type === "context.compacted") {
      const { trigger, tokensBefore, tokensAfter } = event;
      this.#add({
        type: "data-compaction",
        id: `compaction/${event.seq}`,
        data: { trigger, tokensBefore, tokensAfter },
      });
    } else if (event.type === "data" && !event.name.startsWith("plugin/")) {
      this.#add({ type: `data-${event.name}`, ...(event.id !== undefined && { id: event.id }), data: event.data });
    }
  }

  #live(event: Live): void {
    if (event.type === "tool.progress") this.#working(event);
    else if (event.type === "usage.updated") {
      const { contextTokens, contextSize, session } = event;
      this.#add({ type: "data-usage", id: "usage", data: { contextTokens, contextSize, session } });
    } else if (event.type === "notice") {
      const { severity, code, title, detail } = event;
      this.#add({ type: "data-notice", data: { severity, code, title, detail }, transient: true });
    } else if (event.type === "data.live") {
      this.#add({ type: `data-${event.name}`, data: event.data, transient: true });
    }
  }

  /** All of it again each time, so only when it has grown by half: what is sent stays in proportion to what there is. */
  #working({ callId, chunk = "" }: Extract<Live, { type: "tool.progress" }>): void {
    if (chunk === "" || !this.#calls.has(callId)) return;
    const progress = this.#progress.get(callId) ?? { text: "", shownAt: 0 };
    this.#progress.set(callId, progress);
    progress.text = (progress.text + chunk).slice(0, PROGRESS_CHARS);
    const { length } = progress.text;
    if (progress.shownAt > 0 && length < progress.shownAt * 1.5 && length - progress.shownAt < PROGRESS_CHARS / 2)
      return;
    if (length === progress.shownAt) return;
    progress.shownAt = Math.max(length, FIRST_PROGRESS_CHARS);
    this.#add({
      type: "tool-output-available",
      toolCallId: callId,
      output: progress.text,
      preliminary: true,
      dynamic: true,
    });
  }

  #steering({ message, inputId }: FactOf<"message.added">): void {
    if (message.role !== "user" || inputId === undefined || inputId === this.#options.inputId) return;
    if (this.#options.inputId === undefined) return;
    this.#add({ type: "steering-message", id: message.id, parts: message.parts.flatMap(saidOf) });
  }

  #result({ callId: toolCallId, name, status, output }: FactOf<"tool.finished">): void {
    this.#progress.delete(toolCallId);
    this.#ensureCall(toolCallId, name);
    if (status === "denied") return this.#add({ type: "tool-output-denied", toolCallId });
    if (status === "ok") {
      return this.#add({ type: "tool-output-available", toolCallId, output: toolValue(output), dynamic: true });
    }
    this.#add({ type: "tool-output-error", toolCallId, errorText: toolText(output) || status, dynamic: true });
  }

  #opened({ requestId, request, expiresAt }: FactOf<"request.opened">): void {
    this.openRequests.add(requestId);
    if (request.type !== "permission") return this.#question(requestId, request, expiresAt);
    const { callId, tool, input, title, reason, remember } = request;
    this.#ensureCall(callId, tool, input);
    this.#approvals.add(requestId);
    this.#add({
      type: "tool-approval-request",
      approvalId: requestId,
      toolCallId: callId,
      approvalDescriptor: { title, remember, expiresAt },
      ...(reason !== undefined && { reason }),
    });
  }

  #question(requestId: string, request: RequestBody, expiresAt: number): void {
    this.#add({ type: "data-request", id: requestId, data: { requestId, request, expiresAt } });
  }

  #resolved({ requestId, answer, by }: FactOf<"request.resolved">): void {
    this.openRequests.delete(requestId);
    if (answer.type !== "permission") {
      return this.#add({ type: "data-request", id: requestId, data: { requestId, answer, by: by.id } });
    }
    if (!this.#approvals.delete(requestId)) return; // its question is in a part that this stream did not show
    const { allow: approved, reason } = answer;
    this.#add({
      type: "tool-approval-response",
      approvalId: requestId,
      approved,
      ...(reason !== undefined && { reason }),
    });
  }

  /** Of a sub-agent only what a person must answer. */
  #child(event: Event): void {
    if (event.type === "request.opened") {
      this.openRequests.add(event.requestId);
      this.#question(event.requestId, event.request, event.expiresAt);
    } else if (event.type === "request.resolved") {
      this.openRequests.delete(event.requestId);
      const { requestId, answer, by } = event;
      this.#add({ type: "data-request", id: requestId, data: { requestId, answer, by: by.id } });
    }
  }

  #end({ reason, usage, turns, error }: FactOf<"run.finished">): void {
    const messageMetadata: { readonly usage: Usage; readonly turns: number; readonly reason: StopReason } = {
      usage,
      turns,
      reason,
    };
    if (reason === "interrupted") return this.#finish({ type: "abort", reason });
    if (reason === "error") this.#add({ type: "error", errorText: error?.message ?? "The run failed" });
    this.#finish({ type: "finish", finishReason: FINISH_REASONS[reason], messageMetadata });
  }
}

const FINISH_REASONS = {
  "end-turn": "stop",
  "max-tokens": "length",
  "max-turns": "other",
  deadline: "other",
  budget: "other",
  refusal: "content-filter",
  "refused-input": "other",
  "content-filter": "content-filter",
  "context-exceeded": "length",
  interrupted: "interrupted",
  error: "error",
} as const satisfies Record<StopReason, UiFinishReason>;

function deltaOf({ id, kind, callId = id }: ShownBlock, delta: string): UiChunk {
  if (kind === "tool-input") return { type: "tool-input-delta", toolCallId: callId, inputTextDelta: delta };
  return { type: `${kind}-delta`, id, delta };
}

/** What a person said, as the parts of a UI message. */
export function saidOf(part: Part): readonly ({ readonly type: "text"; readonly text: string } | UiFile)[] {
  if (part.type === "text") return [{ type: "text", text: part.text }];
  return part.type === "file" ? [fileOf(part)] : [];
}

/** A stored file has no address that a browser could open: it is named by its hash. */
function fileOf({ mediaType, data, name }: FilePart): UiFile {
  const url =
    data.type === "url"
      ? data.url
      : data.type === "base64"
        ? `data:${mediaType};base64,${data.base64}`
        : `blob:${data.hash}`;
  return { type: "file", mediaType, url, ...(name !== undefined && { filename: name }) };
}
