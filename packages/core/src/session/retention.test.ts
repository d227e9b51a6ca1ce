import { describe, expect, it } from "vitest";
import { agent } from "../ports/agent.ts";
import { pruneSessions, type Retention } from "./retention.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { soon, until } from "../testing/waiting.ts";

const DAY = 24 * 60 * 60 * 1000;

/** Sessions 1 to 4, a day apart; then number 1 is used again; number 3 has a sub-agent; 2 still works. */
async function some() {
  const worker = agent({ name: "worker", model: scriptedModel([{ text: "42" }]), instructions: "x" });
  const model = scriptedModel([(request) => plan(request.messages.at(-1)?.parts[0]), { text: "Ok." }, { text: "Ok." }]);
  const gate = Promise.withResolvers<void>();
  const plan = (part: unknown) => {
    const said = (part as { readonly text?: string }).text ?? "";
    if (said === "3") return { calls: [{ name: "worker", input: { task: "Count." } }] };
    return said === "2" ? { text: "Later.", hold: gate.promise } : { text: "Ok." };
  };
  const guide = agent({ name: "guide", model, instructions: "x", tools: [worker] });
  const runtime = await testRuntime({ agents: [guide] });
  const ids: string[] = [];
  for (const number of [1, 2, 3, 4]) {
    const run = await runtime.send(guide, String(number));
    if (number === 2) await until(() => model.requests.length === 2);
    else await soon(run.result());
    ids.push(run.session.id);
    await runtime.clock.advance(DAY);
  }
  await soon((await (await runtime.session<string>(ids[0] ?? "")).send("Again")).result());
  const prune = async (retention: Retention) =>
    (await pruneSessions(runtime, retention)).map(({ sessionId }) => ids.indexOf(sessionId) + 1);
  const left = async () =>
    (await runtime.sessions()).map(({ sessionId }) => ids.indexOf(sessionId) + 1).toSorted((a, b) => a - b);
  return { runtime, gate, prune, left };
}

describe("pruneSessions", () => {
  it("SESS-09 removes what has not changed since, with its sub-agents, and never what is unfinished", async () => {
    const { runtime, gate, prune, left } = await some();
    expect(await left()).toEqual([0, 1, 2, 3, 4]); // 0 is the sub-agent's
    expect(await prune({ before: runtime.clock.now() - 1.5 * DAY })).toEqual([3]);
    expect(await left()).toEqual([1, 2, 4]);
    gate.resolve();
    await until(async () => (await runtime.sessions({ status: "idle" })).length === 3);
    expect(await prune({ before: runtime.clock.now() - 1.5 * DAY })).toEqual([]);
    await runtime.clock.advance(2 * DAY);
    expect(await prune({ before: runtime.clock.now() - 1.5 * DAY })).toEqual([4, 1, 2]);
    expect(await left()).toEqual([]);
    await runtime.close();
  });

  it("SESS-08 keeps the number of sessions that changed last", async () => {
    const { runtime, gate, prune, left } = await some();
    expect(await prune({ keep: 10 })).toEqual([]);
    expect(await prune({ keep: 1 })).toEqual([3, 4]); // 1 was used last, 2 works
    expect(await left()).toEqual([1, 2]);
    gate.resolve();
    await runtime.close();
  });
});
