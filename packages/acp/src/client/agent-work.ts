/** One task that another agent works on: from its beginning, over what only a person can answer, to its end. */

import { CapstanError, type FlowContext, systemClock } from "@capstan/core";
import { textOfContent, type UiChunk, type UiMessage } from "@capstan/wire/acp";
import { ACP_LIMITS as LIMITS } from "../limits.ts";
import { acpClient, type AcpClient } from "./acp-client.ts";
import type { Environment } from "./agent-env.ts";
import { approves, type AutoApprove, DEFAULT_APPROVALS, type PermissionAsk } from "./auto-approve.ts";
import type { PromptEnd } from "./external-agent.ts";

export type AcpAgentOptions = {
  /** The tool's name, for the model and for rules. */
  readonly name: string;
  /** What the model reads: what this agent can do. */
  readonly description: string;
  /** What starts it, such as `claude-agent-acp`. */
  readonly command: string;
  readonly args?: readonly string[];
  /** What it gets beside the allow-listed names of this process's environment, such as its key. */
  readonly env?: Environment;
  /** What is permitted without asking a person. */
  readonly permission?: AutoApprove;
};
/** How far it came: to its end, or to a question. */
export type Came =
  | { readonly type: "ended"; readonly stopReason: PromptEnd["stopReason"]; readonly text: string }
  | { readonly type: "asked"; readonly title: string; readonly detail: string };
type Question = { readonly title: string; readonly detail: string; readonly answer: (allow: boolean) => void };

export class AgentWork {
  readonly #options: AcpAgentOptions;
  readonly #cwd: string;
  readonly #client: AcpClient;
  readonly #gone: () => void;
  /** Questions that no person has answered yet, the first one being asked. */
  readonly #questions: Question[] = [];
  #approved = 0;
  #asks = Promise.withResolvers<void>();
  #prompt: Promise<PromptEnd> | undefined;
  #progress: FlowContext["progress"] = () => undefined;
  #forget: (() => void) | undefined;

  /** `gone` is called once, when the agent has ended. */
  constructor(options: AcpAgentOptions, cwd: string, gone: () => void) {
    const { command, args, env } = options;
    this.#options = options;
    this.#cwd = cwd;
    this.#gone = gone;
    this.#client = acpClient({
      command,
      cwd,
      ...(args !== undefined && { args }),
      ...(env !== undefined && { env }),
      permission: { allow: (ask, { signal }) => this.#allows(ask, signal), atMost: Infinity },
      permissionMs: LIMITS.personMs,
    });
    this.#client.setUpdateCallback((chunk) => this.#show(chunk));
  }

  /** Shows its progress in this call. What it returns lets go of the call again. */
  attach({ signal, progress }: FlowContext): () => void {
    this.#forget?.();
    this.#client.hold(true);
    this.#progress = progress;
    const onAbort = (): void => this.#left(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    return () => signal.removeEventListener("abort", onAbort);
  }

  begin(task: string): Promise<Came> {
    this.#prompt = this.#client.prompt(task);
    this.#prompt.catch(() => undefined); // awaited in `#next`, which may be later
    return this.#next();
  }

  goOn(allow: boolean): Promise<Came> {
    this.#questions.shift()?.answer(allow);
    return this.#next();
  }

  async end(): Promise<void> {
    this.#forget?.();
    this.#gone();
    await this.#client.disconnect();
  }

  async #next(): Promise<Came> {
    if (this.#prompt === undefined)
      throw new CapstanError(
        "process-failed",
        `${this.#options.name} was lost together with the process that had started it`,
      );
    if (this.#questions.length === 0) {
      this.#asks = Promise.withResolvers();
      const ended = await Promise.race([this.#prompt, this.#asks.promise]);
      if (ended !== undefined) return { type: "ended", stopReason: ended.stopReason, text: textOf(ended.message) };
    }
    const { title = "", detail = "" } = this.#questions[0] ?? {};
    return { type: "asked", title, detail };
  }

  /** By the rules of the tool, else by a person. */
  async #allows(ask: PermissionAsk, signal: AbortSignal): Promise<boolean> {
    const { permission, name } = this.#options;
    const { allow = [], atMost = DEFAULT_APPROVALS } = permission ?? {};
    if (this.#approved < atMost) {
      const allowed = typeof allow === "function" ? await allow(ask, { signal }) : approves(allow, ask, this.#cwd);
      if (allowed === true) this.#approved += 1;
      if (allowed === true) return true;
    }
    const { toolCall } = ask;
    const detail = [
      toolCall.rawInput === undefined ? "" : JSON.stringify(toolCall.rawInput),
      ...said(toolCall.content ?? []),
    ];
    return new Promise((resolve) => {
      this.#questions.push({
        title: `${name}: ${toolCall.title ?? toolCall.kind ?? "a call"}`,
        detail: detail
          .filter((text) => text !== "")
          .join("\n")
          .slice(0, LIMITS.detailCharacters)
          .toWellFormed(),
        answer: resolve,
      });
      signal.addEventListener("abort", () => resolve(false), { once: true });
      this.#asks.resolve();
    });
  }

  /** A hold that ends while a person is asked leaves the agent waiting for the answer; an interrupt ends it. */
  #left(reason: unknown): void {
    if (this.#questions.length === 0 || !CapstanError.is(reason)) return void this.end();
    this.#client.hold(false);
    this.#forget = systemClock.after(LIMITS.personMs, () => void this.end(), { background: true });
  }

  #show(chunk: UiChunk): void {
    if (chunk.type === "text-delta") this.#progress({ chunk: chunk.delta });
    else if (chunk.type === "tool-input-available") this.#progress({ message: chunk.title ?? chunk.toolName });
  }
}

function textOf({ parts }: UiMessage): string {
  return parts.map((part) => (part.type === "text" && "text" in part ? part.text : "")).join("");
}

function said(content: NonNullable<PermissionAsk["toolCall"]["content"]>): readonly string[] {
  return content.length === 0 ? [] : [textOfContent(content)];
}
