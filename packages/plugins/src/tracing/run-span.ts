/** The open spans of one run: the run's own, the model call under way, and the calls of tools. */

import type { Event, Fact, FactOf, Problem } from "@capstan/core";
import type { Attributes, OtelApi, OtelSpan, OtelTracer, SpanContext } from "./otel-api.ts";
import { KIND, STATUS_ERROR } from "./otel-api.ts";
import { bounded, messagesText, type RequestContent } from "./span-content.ts";
import {
  answerAttributes,
  chatAttributes,
  endAttributes,
  runAttributes,
  type Scene,
  toolAttributes,
} from "./span-facts.ts";
import { ATTRIBUTE, modelNames, OPERATION } from "./semantic-conventions.ts";

/** Calls of one run that are kept in mind as the parents of sub-agents' spans. */
const MAX_CALLS = 10_000;

export type Otel = { readonly api: OtelApi; readonly tracer: OtelTracer };
export type RunStart = {
  readonly scene: Scene;
  readonly at: number;
  readonly parent: SpanContext | undefined;
  /** Spans of the same run that ended when it was suspended or its process was gone. */
  readonly before: readonly SpanContext[];
};

type Chat = { readonly span: OtelSpan; readonly turn: number };

export class RunSpan {
  readonly scene: Scene;
  readonly #otel: Otel;
  readonly #span: OtelSpan;
  readonly #content: boolean;
  #chat: Chat | undefined;
  readonly #tools = new Map<string, OtelSpan>();
  readonly #calls = new Map<string, SpanContext>();
  #model = false;

  constructor(otel: Otel, { scene, at, parent, before }: RunStart, content: boolean) {
    this.scene = scene;
    this.#otel = otel;
    this.#content = content;
    const { api, tracer } = otel;
    const context = parent === undefined ? api.ROOT_CONTEXT : api.trace.setSpanContext(api.ROOT_CONTEXT, parent);
    const options = {
      kind: KIND.internal,
      attributes: runAttributes(scene),
      links: before.map((spanContext) => ({ context: spanContext })),
      startTime: at,
    };
    this.#span = tracer.startSpan(`${OPERATION.agent} ${scene.agent}`, options, context);
  }

  get context(): SpanContext {
    return this.#span.spanContext();
  }

  /** Of a call of this run, open or not. */
  callContext(callId: string): SpanContext | undefined {
    return this.#calls.get(callId);
  }

  see(event: Event, agent: string, request: RequestContent | undefined): void {
    const scene = { ...this.scene, agent }; // a handoff changes who is in charge
    switch (event.type) {
      case "run.started":
        this.#span.setAttributes({ [ATTRIBUTE.runTrigger]: event.trigger, [ATTRIBUTE.agentVersion]: event.agentHash });
        return;
      case "run.resumed":
        if (event.by === "recovery") this.#endOpen(event.at, { [ATTRIBUTE.errorType]: "lost-ownership" });
        this.#span.addEvent("capstan.run.resumed", { [ATTRIBUTE.resumedBy]: event.by }, event.at);
        return;
      case "run.suspended":
        this.#span.addEvent("capstan.run.suspended", {}, event.at);
        return;
      case "turn.started":
        this.#askModel(event, scene);
        return;
      case "turn.reset":
        this.#endChat(event.at, {}, event.error);
        return;
      case "message.added":
        if (this.#content && event.turn !== undefined && event.turn === this.#chat?.turn)
          this.#chat.span.setAttributes({ [ATTRIBUTE.outputMessages]: messagesText([event.message]) });
        return;
      case "turn.finished":
        if (this.#content && request !== undefined) this.#chat?.span.setAttributes(contentAttributes(request));
        this.#endChat(event.at, answerAttributes(event), event.error);
        return;
      case "tool.started":
        this.#startTool(event, scene);
        return;
      case "tool.finished":
        this.#endTool(event);
        return;
      case "request.opened":
      case "request.resolved":
        this.#addRequest(event);
        return;
      default:
    }
  }

  finish(fact: FactOf<"run.finished">): void {
    const open = { [ATTRIBUTE.errorType]: fact.reason === "interrupted" ? "interrupted" : "run-ended" };
    this.#endOpen(fact.at, open);
    this.#span.setAttributes(endAttributes(fact));
    if (fact.error !== undefined) fail(this.#span, fact.error.code);
    this.#span.end(fact.at);
  }

  /** Ends what is open before the run does. */
  cut(why: "suspended" | "closed", at: number): void {
    this.#endOpen(at, { [ATTRIBUTE.cut]: why });
    this.#span.setAttributes({ [ATTRIBUTE.cut]: why });
    this.#span.end(at);
  }

  #askModel(fact: FactOf<"turn.started">, scene: Scene): void {
    this.#endChat(fact.at, { [ATTRIBUTE.errorType]: "tried-again" });
    const { provider, model } = modelNames(fact.model);
    if (!this.#model) this.#span.setAttributes({ [ATTRIBUTE.provider]: provider, [ATTRIBUTE.requestModel]: model });
    this.#model = true;
    const span = this.#child(`${OPERATION.chat} ${model}`, KIND.client, chatAttributes(scene, fact), fact.at);
    this.#chat = { span, turn: fact.turn };
  }

  #endChat(at: number, attributes: Attributes, error?: Problem): void {
    const chat = this.#chat;
    if (chat === undefined) return;
    this.#chat = undefined;
    chat.span.setAttributes(attributes);
    if (error !== undefined) fail(chat.span, error.code);
    chat.span.end(at);
  }

  #startTool(fact: FactOf<"tool.started">, scene: Scene): void {
    this.#tools.get(fact.callId)?.end(fact.at); // begun again after a crash
    const attributes = toolAttributes(scene, fact);
    if (this.#content) attributes[ATTRIBUTE.toolArguments] = bounded(JSON.stringify(fact.input));
    const span = this.#child(`${OPERATION.tool} ${fact.name}`, KIND.internal, attributes, fact.at);
    this.#tools.set(fact.callId, span);
    this.#calls.set(fact.callId, span.spanContext());
    const [oldest] = this.#calls.keys();
    if (this.#calls.size > MAX_CALLS && oldest !== undefined) this.#calls.delete(oldest);
  }

  #endTool(fact: FactOf<"tool.finished">): void {
    const { callId, name, status, by, output } = fact;
    const span = this.#tools.get(callId);
    const decided = by === undefined ? {} : { [ATTRIBUTE.decidedBy]: by };
    if (span === undefined) {
      const attributes = { [ATTRIBUTE.toolName]: name, [ATTRIBUTE.toolCallId]: callId, [ATTRIBUTE.toolStatus]: status };
      this.#span.addEvent("capstan.tool.not_run", { ...attributes, ...decided }, fact.at);
      return;
    }
    this.#tools.delete(callId);
    span.setAttributes({ [ATTRIBUTE.toolStatus]: status, ...decided });
    if (this.#content) {
      const shown = output.content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");
      span.setAttributes({ [ATTRIBUTE.toolResult]: bounded(shown) });
    }
    if (status !== "ok") fail(span, status);
    span.end(fact.at);
  }

  #addRequest(fact: FactOf<"request.opened"> | FactOf<"request.resolved">): void {
    const id = { [ATTRIBUTE.requestId]: fact.requestId };
    if (fact.type === "request.opened") {
      this.#span.addEvent("capstan.request.opened", { ...id, [ATTRIBUTE.requestType]: fact.request.type }, fact.at);
      return;
    }
    const allowed = "allow" in fact.answer ? { [ATTRIBUTE.requestAllowed]: fact.answer.allow } : {};
    this.#span.addEvent("capstan.request.resolved", { ...id, ...allowed }, fact.at);
  }

  #endOpen(at: number, attributes: Attributes): void {
    this.#endChat(at, attributes);
    for (const span of this.#tools.values()) {
      span.setAttributes(attributes);
      span.end(at);
    }
    this.#tools.clear();
  }

  #child(name: string, kind: number, attributes: Attributes, startTime: number): OtelSpan {
    const { api, tracer } = this.#otel;
    const under = api.trace.setSpanContext(api.ROOT_CONTEXT, this.context);
    return tracer.startSpan(name, { kind, attributes, links: [], startTime }, under);
  }
}

function fail(span: OtelSpan, type: string): void {
  span.setAttributes({ [ATTRIBUTE.errorType]: type });
  span.setStatus({ code: STATUS_ERROR, message: type });
}

function contentAttributes({ system, messages, tools, settings }: RequestContent): Attributes {
  const { maxOutputTokens, temperature } = settings;
  return {
    ...(maxOutputTokens !== undefined && { [ATTRIBUTE.maxTokens]: maxOutputTokens }),
    ...(temperature !== undefined && { [ATTRIBUTE.temperature]: temperature }),
    [ATTRIBUTE.systemInstructions]: system,
    [ATTRIBUTE.inputMessages]: messages,
    [ATTRIBUTE.toolDefinitions]: tools,
  };
}

/** Facts that belong to a run and mean that it goes on. */
export function isOfRun(event: Event): event is Fact & { readonly runId: string } {
  return "runId" in event && event.runId !== undefined && !("eph" in event);
}
