import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { agent, CapstanError, tool } from "@capstan/core";
import { scriptedModel, testRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { call } from "../file-world.ts";
import { metrics } from "./index.ts";

type Point = { readonly attributes: object; readonly count: number; readonly sum: number };

/** A provider of its own, and what it holds by the name of each metric. */
function world() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const provider = new MeterProvider({ readers: [reader] });
  const points = async (): Promise<ReadonlyMap<string, readonly Point[]>> => {
    await provider.forceFlush();
    await provider.shutdown();
    const scopes = exporter.getMetrics().at(-1)?.scopeMetrics ?? [];
    return new Map(
      scopes.flatMap(({ metrics: found }) =>
        found.map(({ descriptor, dataPoints }) => [
          descriptor.name,
          dataPoints.map(({ attributes, value }) => {
            const { count, sum = 0 } = value as { readonly count: number; readonly sum?: number };
            return { attributes, count, sum };
          }),
        ]),
      ),
    );
  };
  return { plugin: metrics({ meter: provider.getMeter("test") }), points };
}

describe("metrics", () => {
  it("OBS-06 OBS-03 measures model calls, tools, runs and people by the conventions", async () => {
    const { plugin, points } = world();
    const pay = tool({
      name: "pay",
      description: "Pays.",
      input: z.object({ to: z.string() }),
      permission: "ask",
      rerun: "safe",
      execute: () => "paid",
    });
    const usage = { inputTokens: 10, outputTokens: 5, cacheReadTokens: 90, costMicroUsd: 2_000 };
    const worker = agent({
      name: "worker",
      model: scriptedModel([
        (_request, attempt) =>
          attempt === 1
            ? { error: new CapstanError("model-overloaded", "Busy", { retryable: true }) }
            : { calls: [call("pay", { to: "ann" })], usage },
        { text: "Done.", usage },
      ]),
      instructions: "x",
      tools: [pay],
    });
    const runtime = await testRuntime({ agents: [worker], plugins: [plugin], permission: { mode: "ask" } });
    const run = await runtime.send(worker, "Go");
    for await (const { event } of run.events()) {
      if (event.type === "turn.reset") await runtime.clock.advance(10_000);
      if (event.type !== "request.opened") continue;
      await runtime.clock.advance(30_000);
      await run.session.respond(event.requestId, { type: "permission", allow: true });
    }
    await runtime.close();
    const found = await points();
    const chat = {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "scripted",
      "gen_ai.request.model": "model",
    };
    expect(found.get("gen_ai.client.token.usage")).toEqual([
      { attributes: expect.objectContaining({ ...chat, "gen_ai.token.type": "input" }), count: 2, sum: 200 },
      { attributes: expect.objectContaining({ ...chat, "gen_ai.token.type": "output" }), count: 2, sum: 10 },
    ]);
    expect(found.get("gen_ai.client.operation.duration")).toEqual([
      { attributes: expect.objectContaining({ ...chat, "error.type": "model-overloaded" }), count: 1, sum: 0 },
      { attributes: expect.objectContaining(chat), count: 2, sum: 0 },
    ]);
    expect(found.get("capstan.usage.cost")).toMatchObject([{ count: 2, sum: 0.004 }]);
    expect(found.get("gen_ai.execute_tool.duration")).toMatchObject([
      { attributes: { "gen_ai.tool.name": "pay", "capstan.tool.status": "ok" }, count: 1 },
    ]);
    expect(found.get("gen_ai.invoke_agent.inference_calls")).toMatchObject([{ count: 1, sum: 2 }]);
    const [wait] = found.get("capstan.request.wait") ?? [];
    expect(wait).toMatchObject({ attributes: { "capstan.request.allowed": true }, count: 1, sum: 39.5 });
    const [whole] = found.get("gen_ai.invoke_agent.duration") ?? [];
    expect(whole).toMatchObject({
      attributes: { "gen_ai.agent.name": "worker", "capstan.run.reason": "end-turn" },
      sum: 40,
    });
    expect(JSON.stringify([...found])).not.toMatch(/ses_|run_/); // no series a session
  });
});
