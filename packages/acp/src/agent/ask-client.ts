/** Asks the person at the editor what a session asks. A question that is answered elsewhere, or closed, is taken back. */

import { type AgentContext, methods } from "@agentclientprotocol/sdk";
import { type Answer, CapstanError, type Json, messageOf, type OpenRequest, type Session } from "@capstan/core";
import {
  type AcpAsked,
  type AcpChoice,
  type AcpElicitation,
  type AcpElicitationModes,
  askInAcp,
} from "@capstan/wire/acp";
import type { CallLook } from "./call-look.ts";

export type AskClientOptions = {
  readonly session: Session<unknown>;
  readonly client: AgentContext;
  readonly look: CallLook;
  readonly modes: AcpElicitationModes;
  /** Ends with the connection. */
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
};

/** The client's answer, or that there will be none. */
type Outcome<T> = { readonly given: T } | "gone";

export class AskClient {
  readonly #options: AskClientOptions;
  readonly #open = new Map<string, AbortController>();
  readonly #seen = new Set<string>();

  constructor(options: AskClientOptions) {
    this.#options = options;
  }

  /** Asks once. What the client leaves without an answer because it is gone stays open. */
  open(request: OpenRequest): void {
    const { requestId } = request;
    if (this.#seen.has(requestId)) return;
    this.#seen.add(requestId);
    const taken = new AbortController();
    this.#open.set(requestId, taken);
    this.#ask(request, AbortSignal.any([taken.signal, this.#options.signal]))
      .catch((error: unknown) => this.#options.log(`A request could not be asked: ${messageOf(error)}`))
      .finally(() => {
        if (this.#open.get(requestId) === taken) this.#open.delete(requestId);
      });
  }

  /** It was answered or closed. */
  close(requestId: string): void {
    this.#open.get(requestId)?.abort();
  }

  /** Takes all back; what is still open may be asked again. */
  closeAll(): void {
    for (const taken of this.#open.values()) taken.abort();
    this.#seen.clear();
  }

  async #ask(request: OpenRequest, signal: AbortSignal): Promise<void> {
    const asked = this.#looked(request, askInAcp(request, this.#options.modes));
    const answer = await this.#answerTo(asked, signal);
    if (answer === "gone" || signal.aborted) return;
    try {
      await this.#options.session.respond(request.requestId, answer.given);
    } catch (error) {
      if (CapstanError.is(error, "request-closed")) return;
      if (!CapstanError.is(error, "request-invalid")) throw error;
      await this.#options.session.respond(request.requestId, refusalOf(asked));
    }
  }

  #looked({ body }: OpenRequest, asked: AcpAsked): AcpAsked {
    if (body.type !== "permission" || asked.type !== "choices") return asked;
    const look = this.#options.look.look(body.tool, body.input);
    const choices = asked.choices.map(({ toolCall, options }) => ({ toolCall: { ...toolCall, ...look }, options }));
    return { ...asked, choices };
  }

  async #answerTo(asked: AcpAsked, signal: AbortSignal): Promise<Outcome<Answer>> {
    if (asked.type === "none") return asked.answer === undefined ? "gone" : { given: asked.answer };
    if (asked.type === "elicitation") return this.#elicit(asked.elicitation, signal);
    const chosen: (string | undefined)[] = [];
    for (const choice of asked.choices) {
      const outcome = await this.#choose(choice, signal);
      if (outcome === "gone") return "gone";
      chosen.push(outcome.given);
      if (outcome.given === undefined) break;
    }
    return { given: asked.answer(chosen) };
  }

  async #choose({ toolCall, options }: AcpChoice, signal: AbortSignal): Promise<Outcome<string | undefined>> {
    const params = { sessionId: this.#options.session.id, toolCall, options };
    const answer = membersOf(await this.#request(methods.client.session.requestPermission, params, signal));
    if (signal.aborted) return "gone";
    const { outcome, optionId } = membersOf(answer["outcome"]);
    return { given: outcome === "selected" && typeof optionId === "string" ? optionId : undefined };
  }

  async #elicit({ request, answer }: AcpElicitation, signal: AbortSignal): Promise<Outcome<Answer>> {
    const params = { sessionId: this.#options.session.id, ...request };
    const { action, content } = membersOf(await this.#request(methods.client.elicitation.create, params, signal));
    if (signal.aborted) return "gone";
    return { given: answer(action === "accept" ? ((content ?? {}) as Json) : undefined) }; // came as JSON
  }

  /** An error is an answer that says nothing. */
  async #request(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    try {
      const options = { cancellationSignal: signal, stopWaitingOnCancel: true };
      return await this.#options.client.request<unknown, unknown>(method, params, options);
    } catch (error) {
      if (!signal.aborted) this.#options.log(`The client refused ${method}: ${messageOf(error)}`);
      return undefined;
    }
  }
}

function refusalOf(asked: AcpAsked): Answer {
  if (asked.type === "choices") return asked.answer([]);
  if (asked.type === "elicitation") return asked.elicitation.answer(undefined);
  return asked.answer ?? { type: "form", decline: true };
}

function membersOf(value: unknown): { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null ? (value as { readonly [name: string]: unknown }) : {};
}
