/** The truth outside the log: which calls really ran and which model calls were really made, before and after a crash. */

import assert from "node:assert/strict";
import type { Agent } from "../ports/agent.ts";
import { conversation } from "../state/conversation.ts";
import type { Fact } from "../words/event.ts";
import type { Message } from "../words/message.ts";
import type { Model } from "../ports/model.ts";
import type { Tool, ToolContext } from "../ports/tool.ts";

type Execution = {
  readonly callId: string;
  readonly tool: string;
  readonly idempotencyKey: string;
  readonly rerun: Tool["rerun"];
  readonly life: number;
};
type Asked = { readonly turn: string; readonly life: number };

/** The process that calls: after its crash nothing of it goes on. */
type Life = { readonly crashed: boolean };
const never: Promise<never> = new Promise(() => undefined);
async function* standstill(): AsyncGenerator<never> {
  yield await never;
}

/** What a request answers to: its last message, but for what hooks add to it alone. */
function lastOf(messages: readonly Message[]): string {
  return messages.findLast(({ id }) => !id.includes("/tail/"))?.id ?? "";
}

export class Ledger {
  readonly #executions: Execution[] = [];
  readonly #asked: Asked[] = [];
  #life = 1;
  #finishedBefore = new Set<string>();
  #turnsBefore = new Set<string>();

  /** The same agent, whose tools write into this ledger when they really run. */
  watchAgent(agent: Agent<unknown>, life: Life): Agent<unknown> {
    const model = typeof agent.model === "string" ? agent.model : this.watchModel(agent.model, life);
    return { ...agent, model, tools: agent.tools.map((tool) => this.#watchTool(tool, life)) };
  }

  watchModel(model: Model, life: Life): Model {
    return {
      id: model.id,
      capabilities: model.capabilities,
      ...(model.price !== undefined && { price: () => model.price?.() }),
      stream: (request) => {
        if (life.crashed) return standstill();
        this.#asked.push({ turn: `${request.sessionId} ${lastOf(request.messages)}`, life: this.#life });
        return model.stream(request);
      },
    };
  }

  /** From here on what runs, runs after the crash. `logs`: what was recorded before it. */
  crashed(logs: readonly (readonly Fact[])[]): void {
    this.#life += 1;
    for (const log of logs) {
      const sessionId = log[0]?.type === "session.created" ? log[0].sessionId : "";
      const said = conversation();
      for (const fact of log) {
        if (fact.type === "tool.finished") this.#finishedBefore.add(fact.callId);
        if (fact.type === "message.added" && fact.turn !== undefined)
          this.#turnsBefore.add(`${sessionId} ${lastOf(said.messages)}`);
        said.apply(fact);
      }
    }
  }

  check(logs: readonly (readonly Fact[])[]): void {
    const doubled = new Map<string, number>();
    for (const { callId, tool, rerun, life } of this.#executions) {
      assert.ok(
        life === 1 || !this.#finishedBefore.has(callId),
        `call ${callId} of ${tool} was finished and ran again`,
      );
      if (rerun === "never") doubled.set(callId, (doubled.get(callId) ?? 0) + 1);
    }
    for (const [callId, times] of doubled) assert.equal(times, 1, `the effect of ${callId} happened ${times} times`);
    for (const { turn, life } of this.#asked)
      assert.ok(life === 1 || !this.#turnsBefore.has(turn), `model call ${turn} was finished and asked again`);
    for (const callId of new Set(this.#executions.map((execution) => execution.callId))) {
      const keys = new Set(
        this.#executions
          .filter((execution) => execution.callId === callId)
          .map((execution) => execution.idempotencyKey),
      );
      assert.equal(keys.size, 1, `call ${callId} ran with ${keys.size} idempotency keys`);
      // a fork has the calls of its source too: counted in each log
      const results = logs.map(
        (log) => log.filter((fact) => fact.type === "tool.finished" && fact.callId === callId).length,
      );
      const most = Math.max(0, ...results);
      assert.equal(most, 1, `call ${callId} ran and has ${most} results`);
    }
  }

  #watchTool(tool: Tool, life: Life): Tool {
    const { body } = tool;
    if (body.type !== "execute") return tool;
    const watched = (input: unknown, context: ToolContext): ReturnType<typeof body.execute> => {
      if (life.crashed) return never;
      const { callId, idempotencyKey } = context;
      this.#executions.push({ callId, tool: tool.name, idempotencyKey, rerun: tool.rerun, life: this.#life });
      return body.execute(input, context);
    };
    return { ...tool, body: { type: "execute", execute: watched } };
  }
}
