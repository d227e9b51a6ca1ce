/** The conversation as it stands in the terminal: a bounded fold of a session's events. All texts are as they came. */

import {
  type Envelope,
  type Fact,
  INTERRUPT_MARKER,
  isLive,
  type Live,
  type Message,
  type PlanEntry,
  type RequestBody,
} from "@capstan/core";
import { TERMINAL_LIMITS } from "../limits.ts";
import { liveEvent } from "./live-events.ts";
import type { Item, ToolItem } from "./item.ts";
import { filesOf, finishedTool, proposedTool, runningTool, userText } from "./tool-items.ts";

export class Transcript {
  #items: Item[] = [];
  #positions = new Map<string, number>();
  /** By which call of the shown session a child was begun. */
  #children = new Map<string, string>();
  #runStartedAt: number | undefined;
  /** Items that were cut off at the front. */
  dropped = 0;
  plan: readonly PlanEntry[] = [];
  /** Of the newest model call. */
  model: string | undefined;
  context: { readonly tokens: number; readonly size: number } | undefined;
  /** Raised when anything changed. */
  version = 0;

  get items(): readonly Item[] {
    return this.#items;
  }

  apply(envelope: Envelope): void {
    this.version += 1;
    const { event, parent } = envelope;
    if (parent !== undefined) this.#ofChild(envelope.sessionId, parent, event);
    else if (isLive(event)) this.#live(event);
    else this.#fact(event);
    this.#cut();
  }

  /** Adds a line of the terminal's own, or replaces the one of that id. */
  note(id: string, severity: "info" | "warning" | "error", text: string): void {
    this.version += 1;
    this.#put({ type: "note", id, severity, text });
    this.#cut();
  }

  #fact(fact: Fact): void {
    switch (fact.type) {
      case "message.added":
        return this.#message(fact.message, fact.seq);
      case "turn.started":
        this.model = fact.model;
        return;
      case "tool.started":
        return this.#put(runningTool(fact, this.#tool(fact.callId)));
      case "tool.finished":
        return this.#put(finishedTool(fact, this.#tool(fact.callId)));
      case "request.opened":
        return this.#asked(fact.request);
      case "task.started":
        if (fact.childSessionId !== undefined && fact.callId !== undefined)
          this.#children.set(fact.childSessionId, fact.callId);
        return;
      case "plan.updated":
        this.plan = fact.entries;
        return;
      case "run.started":
        this.#runStartedAt = fact.at;
        return;
      case "context.compacted":
        return this.note(
          `fact/${fact.seq}`,
          "info",
          `The conversation was summed up: ${fact.tokensBefore} tokens became ${fact.tokensAfter}`,
        );
      case "run.finished":
        this.#dropLive();
        this.#put({
          type: "end",
          id: `fact/${fact.seq}`,
          reason: fact.reason,
          problem: fact.error?.message,
          usage: fact.treeUsage ?? fact.usage,
          turns: fact.turns,
          durationMs: this.#runStartedAt === undefined ? undefined : fact.at - this.#runStartedAt,
        });
        this.#runStartedAt = undefined;
        return;
      default:
        return;
    }
  }

  #live(event: Live): void {
    const change = liveEvent(event, (id) => this.#at(id));
    if (change === undefined) return;
    if (change.type === "context") this.context = change;
    else if (change.type === "reset") {
      this.#dropLive();
      if (change.note !== undefined) this.#put(change.note);
    } else this.#put(change.item);
  }

  /** What was written live gives way to what is committed; both look the same. */
  #message(message: Message, seq: number): void {
    if (message.role === "user") {
      const text = userText(message);
      const files = filesOf(message);
      if (text !== "" || files.length > 0) this.#put({ type: "user", id: message.id, text, files });
      return;
    }
    if (message.role !== "assistant") return;
    this.#dropLive();
    for (const [at, part] of message.parts.entries()) {
      const id = `${seq}/${at}`;
      if (part.type === "text" && part.text.trim() !== "" && part.text !== INTERRUPT_MARKER)
        this.#put({ type: "text", id, text: part.text.slice(0, TERMINAL_LIMITS.textCharacters), live: false });
      else if (part.type === "reasoning" && part.text.trim() !== "")
        this.#put({ type: "reasoning", id, text: part.text.slice(0, TERMINAL_LIMITS.textCharacters), live: false });
      else if (part.type === "tool-call") this.#put(proposedTool(part));
      else if (part.type === "tool-result")
        this.#put(
          finishedTool({ ...part, status: part.output.isError === true ? "error" : "ok" }, this.#tool(part.callId)),
        );
    }
  }

  /** A call that is asked about has its title before it starts. */
  #asked(request: RequestBody): void {
    if (request.type !== "permission") return;
    const tool = this.#tool(request.callId);
    if (tool?.status === "proposed") this.#put({ ...tool, title: request.title });
  }

  #ofChild(sessionId: string, parent: NonNullable<Envelope["parent"]>, event: Envelope["event"]): void {
    const callId = this.#children.get(parent.sessionId) ?? parent.callId;
    this.#children.set(sessionId, callId);
    const tool = this.#tool(callId);
    if (tool === undefined || event.type !== "tool.started") return;
    this.#put({ ...tool, activity: event.title });
  }

  #at(id: string): Item | undefined {
    const position = this.#positions.get(id);
    return position === undefined ? undefined : this.#items[position];
  }

  #tool(callId: string): ToolItem | undefined {
    const item = this.#at(callId);
    return item?.type === "tool" ? item : undefined;
  }

  #put(item: Item): void {
    const position = this.#positions.get(item.id);
    if (position === undefined) {
      this.#positions.set(item.id, this.#items.length);
      this.#items.push(item);
    } else this.#items[position] = item;
  }

  #dropLive(): void {
    const first = this.#items.findIndex((item) => "live" in item && item.live);
    if (first !== -1) this.#keep(this.#items.filter((item) => !("live" in item && item.live)));
  }

  /** In large pieces: each one moves everything that is drawn. */
  #cut(): void {
    if (this.#items.length <= TERMINAL_LIMITS.items) return;
    const kept = this.#items.slice(-Math.ceil(TERMINAL_LIMITS.items / 2));
    this.dropped += this.#items.length - kept.length;
    this.#keep(kept);
  }

  #keep(items: Item[]): void {
    this.#items = items;
    this.#positions = new Map(items.map((item, position) => [item.id, position]));
  }
}
