/**
 * A session's events as Anthropic-style server-sent events: the Messages API's own names for what the model says, and
 * `agent_*`, `iteration_*`, `tool_execution_*` and `request_*` for what happens around it.
 */

import {
  type Envelope,
  type Event,
  type FactOf,
  isLive,
  type Json,
  type Live,
  type Part,
  type StopReason,
  type TurnReason,
  type Usage,
} from "@capstan/core";
import { type Screen, screen, type Shown, type ShownBlock } from "./screen.ts";
import { toolText, toolValue } from "./tool-text.ts";

export type AnthropicEvent = { readonly type: string; readonly [field: string]: unknown };
export type AnthropicStream = { push(envelope: Envelope): readonly AnthropicEvent[] };

/** Of one session; events of its sub-agents are left out, but for their requests. */
export function anthropicStream(): AnthropicStream {
  return new SessionStream();
}

class SessionStream implements AnthropicStream {
  readonly #screen: Screen = screen();
  #sessionId = "";
  #agent = "";
  #turn = 0;
  #model = "";
  #message = 0;
  /** The message of the turn has begun. */
  #begun = false;
  #open = new Set<number>();
  #out: AnthropicEvent[] = [];

  push({ sessionId, agent, parent, event }: Envelope): readonly AnthropicEvent[] {
    this.#out = [];
    if (parent !== undefined) {
      if (event.type === "request.opened" || event.type === "request.resolved") this.#request(event);
      return this.#out;
    }
    this.#sessionId = sessionId;
    this.#agent = agent;
    for (const shown of this.#screen.push(event)) this.#show(shown);
    return this.#out;
  }

  #add(type: string, fields: { readonly [field: string]: unknown } = {}): void {
    this.#out.push({ type, ...fields });
  }

  #show(shown: Shown): void {
    switch (shown.type) {
      case "turn-started":
        this.#turn = shown.turn ?? this.#turn + 1;
        this.#model = shown.model ?? this.#model;
        return this.#iteration();
      case "turn-reset":
        this.#closeBlocks();
        this.#add("iteration_stop", { iteration: this.#turn, aborted: true });
        return this.#iteration();
      case "block-started":
        this.#beginMessage(shown.block.messageId);
        this.#open.add(shown.block.index);
        return this.#add("content_block_start", { index: shown.block.index, content_block: emptyBlock(shown.block) });
      case "block-delta":
        return this.#add("content_block_delta", {
          index: shown.block.index,
          delta: deltaOf(shown.block.kind, shown.delta),
        });
      case "block-finished":
        return this.#closeBlock(shown.block.index);
      case "part":
        return this.#part(shown.part);
      case "turn-finished":
        return this.#endTurn(shown.event);
      case "event":
        return isLive(shown.event) ? this.#live(shown.event) : this.#fact(shown.event);
      default:
        return shown satisfies never;
    }
  }

  #iteration(): void {
    this.#begun = false;
    this.#open = new Set();
    this.#add("iteration_start", { iteration: this.#turn });
  }

  #beginMessage(id?: string): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#message += 1;
    const message = {
      id: id ?? `message_${this.#message}`,
      type: "message",
      role: "assistant",
      model: this.#model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 0, output_tokens: 0 },
    };
    this.#add("message_start", { message });
  }

  #closeBlock(index: number): void {
    if (this.#open.delete(index)) this.#add("content_block_stop", { index });
  }

  #closeBlocks(): void {
    for (const index of this.#open) this.#add("content_block_stop", { index });
    this.#open.clear();
  }

  #part(part: Part): void {
    if (part.type === "tool-result") this.#executed(part.callId, part.name, toolValue(part.output), false);
  }

  #endTurn({ reason, usage, model }: FactOf<"turn.finished">): void {
    this.#model = model;
    this.#closeBlocks();
    this.#beginMessage(); // a turn that said nothing is an empty message
    const delta = { stop_reason: STOP_REASONS[reason], stop_sequence: null };
    this.#add("message_delta", { delta, usage: usageOf(usage) });
    this.#add("message_stop");
    this.#add("iteration_stop", { iteration: this.#turn });
    this.#begun = false;
  }

  #fact(event: Exclude<Event, Live>): void {
    switch (event.type) {
      case "run.started":
        this.#turn = 0;
        return this.#add("agent_start", { session_id: this.#sessionId, run_id: event.runId, agent: this.#agent });
      case "tool.started":
        return this.#add("tool_execution_start", {
          tool_use_id: event.callId,
          name: event.name,
          input: event.input,
          title: event.title,
        });
      case "tool.finished":
        return this.#executed(
          event.callId,
          event.name,
          event.status === "ok" ? toolValue(event.output) : toolText(event.output),
          event.status !== "ok",
          event.status,
        );
      case "request.opened":
      case "request.resolved":
        return this.#request(event);
      case "run.finished":
        return this.#end(event);
      default:
        return; // not of what the model says or does
    }
  }

  #executed(id: string, name: string, output: unknown, isError: boolean, status?: string): void {
    this.#add("tool_execution_result", { tool_use_id: id, name, output, is_error: isError, ...(status && { status }) });
  }

  #request(event: FactOf<"request.opened"> | FactOf<"request.resolved">): void {
    const { requestId: request_id } = event;
    if (event.type === "request.opened") this.#add("request_opened", { request_id, request: event.request });
    else this.#add("request_resolved", { request_id, answer: event.answer });
  }

  #live(event: Live): void {
    if (event.type !== "tool.progress") return;
    const { callId: tool_use_id, chunk, stream, message } = event;
    const output = chunk ?? message;
    if (output !== undefined)
      this.#add("tool_execution_output", { tool_use_id, output, is_stderr: stream === "stderr" });
  }

  #end({ reason, usage, turns, error, runId }: FactOf<"run.finished">): void {
    if (reason === "error") {
      const type = error?.retryable === true ? "overloaded_error" : "api_error";
      this.#add("error", { error: { type, message: error?.message ?? "The run failed", code: error?.code } });
    }
    this.#add("agent_stop", {
      session_id: this.#sessionId,
      run_id: runId,
      stop_reason: reason satisfies StopReason,
      total_iterations: turns,
      usage: usageOf(usage),
    });
  }
}

const STOP_REASONS = {
  stop: "end_turn",
  "tool-calls": "tool_use",
  length: "max_tokens",
  "content-filter": "refusal",
  refusal: "refusal",
  paused: "pause_turn",
  "context-exceeded": "model_context_window_exceeded",
  interrupted: "end_turn",
  cut: "end_turn",
  error: "end_turn",
  other: "end_turn",
} as const satisfies Record<TurnReason, string>;

function emptyBlock({ kind, callId, name }: ShownBlock): { readonly [field: string]: Json | undefined } {
  if (kind === "text") return { type: "text", text: "", citations: null };
  if (kind === "reasoning") return { type: "thinking", thinking: "", signature: "" };
  return { type: "tool_use", id: callId, name, input: {} };
}

function deltaOf(kind: ShownBlock["kind"], delta: string): { readonly [field: string]: string } {
  if (kind === "text") return { type: "text_delta", text: delta };
  if (kind === "reasoning") return { type: "thinking_delta", thinking: delta };
  return { type: "input_json_delta", partial_json: delta };
}

function usageOf({ inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 }: Usage): {
  readonly [field: string]: number;
} {
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cache_read_input_tokens: cacheReadTokens,
    cache_creation_input_tokens: cacheWriteTokens,
  };
}
