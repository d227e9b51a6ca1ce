/** Answers what another agent asks: by rules or a function that somebody gave, within a bound, and every answer is recorded. */

import type { RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import { type Clock, sleep } from "@capstan/core";
import { parseAcpToolCall } from "@capstan/wire/acp";
import { ACP_LIMITS as LIMITS } from "../limits.ts";
import {
  approves,
  type AutoApprove,
  DEFAULT_APPROVALS,
  outcomeOf,
  type PermissionAsk,
  type PermissionRecord,
} from "./auto-approve.ts";
import type { OpenPrompt } from "./open-prompt.ts";

export type PermissionDeskOptions = {
  readonly clock: Clock;
  readonly cwd: string;
  readonly permission: AutoApprove | undefined;
  readonly permissionMs: number;
  readonly told: (record: PermissionRecord) => void;
};
type Decision = Pick<PermissionRecord, "allowed" | "by">;

const CANCELLED: RequestPermissionResponse = { outcome: { outcome: "cancelled" } };

export class PermissionDesk {
  readonly #options: PermissionDeskOptions;
  #records: PermissionRecord[] = [];
  #allowed = 0;
  #open = 0;

  constructor(options: PermissionDeskOptions) {
    this.#options = options;
  }

  /** The newest last. */
  records(): readonly PermissionRecord[] {
    return [...this.#records];
  }

  /** Outside of a prompt nothing is permitted. */
  async answer(
    request: RequestPermissionRequest,
    prompt: OpenPrompt | undefined,
    signal: AbortSignal,
  ): Promise<RequestPermissionResponse> {
    const said = parseAcpToolCall(request.toolCall);
    if (prompt === undefined || said === undefined || this.#open >= LIMITS.openPermissions) return CANCELLED;
    const toolCall = prompt.whole(said);
    const answered = prompt.asked(toolCall);
    const ask: PermissionAsk = { toolCall, options: request.options };
    this.#open += 1;
    const over = AbortSignal.any([signal, prompt.over.signal]);
    const decided = await this.#decide(ask, over).finally(() => (this.#open -= 1));
    const decision: Decision = over.aborted ? { allowed: false, by: "cancel" } : decided;
    const response = decision.by === "cancel" ? CANCELLED : { outcome: outcomeOf(request.options, decision.allowed) };
    const allowed = decision.allowed && response.outcome.outcome === "selected";
    this.#record(ask, { ...decision, allowed });
    answered(allowed, decision.by);
    return response;
  }

  async #decide(ask: PermissionAsk, signal: AbortSignal): Promise<Decision> {
    const { permission, permissionMs, cwd, clock } = this.#options;
    if (permission === undefined) return { allowed: false, by: "nobody" };
    const { allow, atMost = DEFAULT_APPROVALS } = permission;
    if (this.#allowed >= atMost) return { allowed: false, by: "limit" };
    if (typeof allow !== "function") {
      const fits = approves(allow, ask, cwd);
      if (fits) this.#allowed += 1;
      return { allowed: fits, by: fits ? "rule" : "nobody" };
    }
    const stop = new AbortController();
    const ended = AbortSignal.any([signal, stop.signal]);
    try {
      const late = sleep(clock, permissionMs, ended).then(() => "late" as const);
      late.catch(() => undefined); // only looked at when it is first
      const given = await Promise.race([Promise.resolve(allow(ask, { signal: ended })), late]);
      if (given !== true) return { allowed: false, by: given === "late" ? "failure" : "function" };
      if (this.#allowed >= atMost) return { allowed: false, by: "limit" }; // others were answered meanwhile
      this.#allowed += 1;
      return { allowed: true, by: "function" };
    } catch {
      return { allowed: false, by: "failure" };
    } finally {
      stop.abort();
    }
  }

  #record({ toolCall }: PermissionAsk, decision: Decision): void {
    const { toolCallId, title, kind } = toolCall;
    const record: PermissionRecord = {
      at: this.#options.clock.now(),
      toolCallId,
      title: title ?? toolCallId,
      kind: kind ?? "other",
      ...decision,
    };
    this.#records = [...this.#records.slice(1 - LIMITS.permissionRecords), record];
    this.#options.told(record);
  }
}
