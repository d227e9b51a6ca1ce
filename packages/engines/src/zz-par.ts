import {
  agent,
  openRuntime,
  tool,
  storeEngine,
  memoryStore,
  systemClock,
  systemIds,
  jsonSchema,
  type Model,
} from "@capstan/core";
import { localEngine } from "./local.ts";
const mode = process.argv[2] ?? "sqlite";
const rerun = (process.argv[3] ?? "safe") as "safe" | "never";
const noop = tool({
  name: "echo",
  description: "echo",
  input: jsonSchema<{ a: string }>({ type: "object" }),
  rerun,
  execute: ({ a }) => `got ${a}`,
});
const N = 40;
const P = 64;
const model: Model = {
  id: "x/y",
  capabilities: {},
  async *stream(r) {
    const n = r.messages.filter((m) => m.role === "assistant").length;
    yield [{ type: "start", model: "m" }];
    if (n % (N + 1) < N) {
      for (let p = 0; p < P; p++)
        yield [
          { type: "block-start", index: p, block: { type: "tool-input", name: "echo" } },
          { type: "block-delta", index: p, delta: '{"a":"x"}' },
          {
            type: "block-end",
            index: p,
            part: { type: "tool-call", callId: "c" + p, name: "echo", input: { a: "x" }, by: "capstan" },
          },
        ];
      yield [{ type: "finish", reason: "tool-calls", usage: { inputTokens: 1, outputTokens: 1 } }];
    } else {
      yield [
        { type: "block-start", index: 0, block: { type: "text" } },
        { type: "block-delta", index: 0, delta: "ok" },
        { type: "block-end", index: 0, part: { type: "text", text: "ok" } },
        { type: "finish", reason: "stop", usage: { inputTokens: 1, outputTokens: 1 } },
      ];
    }
  },
};
const a = agent({ name: "g", model, instructions: "hi", tools: [noop], limits: { turns: 100000 } });
const ids = systemIds(() => Date.now());
const engine =
  mode === "memory"
    ? storeEngine(memoryStore(), { clock: systemClock, ids })
    : await localEngine({
        path: `/tmp/perf/db-${process.pid}/x.db`,
        durability: mode === "relaxed" ? "relaxed" : "full",
      });
const runtime = await openRuntime({ agents: [a], engine });
for (let i = 0; i < Number(process.argv[4] ?? 4); i++) {
  const c0 = process.cpuUsage();
  const t0 = performance.now();
  const run = await runtime.send(a, "hello?");
  let n = 0;
  for await (const _ of run.events()) n++;
  const c = process.cpuUsage(c0);
  console.log(
    mode,
    rerun,
    "cpu/call us",
    ((c.user + c.system) / N / P).toFixed(1),
    "wall/turn us",
    (((performance.now() - t0) * 1000) / N / P / P).toFixed(1),
    n,
  );
}
await runtime.close();
