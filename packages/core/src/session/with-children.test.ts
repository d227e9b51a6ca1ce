import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import type { Engine } from "../ports/engine.ts";
import type { Envelope } from "../words/event.ts";
import { withChildren } from "./with-children.ts";

/** Events of a parent that never ends, and of its child, which says one thing and is silent then. */
function talkative(): Engine {
  async function* parent(): AsyncGenerator<Envelope> {
    yield envelope("ses_1", { type: "task.started", childSessionId: "ses_2", callId: "c" });
    for (;;) yield envelope("ses_1", { type: "notice" });
  }
  async function* child(signal: AbortSignal | undefined): AsyncGenerator<Envelope> {
    yield envelope("ses_2", { type: "run.started" });
    await new Promise((resolve) => signal?.addEventListener("abort", resolve));
  }
  const engine: Pick<Engine, "events" | "summary"> = {
    events: (sessionId, options) => (sessionId === "ses_1" ? parent() : child(options?.signal)),
    summary: async (sessionId) => ({ sessionId, parent: "ses_1" }) as unknown as Awaited<ReturnType<Engine["summary"]>>,
  };
  return engine as Engine;
}

function envelope(sessionId: string, event: object): Envelope {
  return { sessionId, agent: "guide", event: { seq: 1, key: "k", at: 1, ...event } } as unknown as Envelope;
}

function heapUsed(): number {
  setFlagsFromString("--expose-gc");
  const gc: unknown = runInNewContext("gc");
  if (typeof gc !== "function") throw new Error("this engine does not collect garbage on demand");
  gc();
  return process.memoryUsage().heapUsed;
}

describe("withChildren", () => {
  it("SUB-04 lets a child through whatever its parent says, and waits once for one that is silent", async () => {
    const ofChild: Envelope[] = [];
    let before = 0;
    let count = 0;
    for await (const event of withChildren(talkative(), "ses_1")) {
      if (event.sessionId === "ses_2") ofChild.push(event);
      if (++count === 20_000) before = heapUsed();
      if (count === 120_000) break;
    }
    expect(heapUsed() - before).toBeLessThan(4_000_000); // 100,000 listeners take more than 10 MB
    expect(ofChild).toEqual([
      { ...envelope("ses_2", { type: "run.started" }), parent: { sessionId: "ses_1", callId: "c" } },
    ]);
  });

  it("SUB-04 shows all that a child did before the end of its task, though its events come late", async () => {
    const gate = Promise.withResolvers<void>();
    async function* parent(): AsyncGenerator<Envelope> {
      yield envelope("ses_1", { type: "task.started", taskId: "t", childSessionId: "ses_2", callId: "c" });
      yield envelope("ses_1", { type: "task.finished", taskId: "t", seq: 2 });
      yield envelope("ses_1", { type: "run.finished", seq: 3 });
    }
    async function* child(signal: AbortSignal | undefined): AsyncGenerator<Envelope> {
      await gate.promise;
      yield envelope("ses_2", { type: "run.started", seq: 1 });
      yield envelope("ses_2", { type: "run.finished", seq: 2 });
      await new Promise((resolve) => signal?.addEventListener("abort", resolve));
    }
    const engine: Pick<Engine, "events" | "summary"> = {
      events: (sessionId, options) => (sessionId === "ses_1" ? parent() : child(options?.signal)),
      summary: async (sessionId) => {
        setImmediate(() => gate.resolve()); // after the parent's last event could have come
        return { sessionId, parent: "ses_1", head: 2 } as unknown as Awaited<ReturnType<Engine["summary"]>>;
      },
    };
    const seen: string[] = [];
    for await (const { sessionId, event } of withChildren(engine as Engine, "ses_1")) {
      seen.push(`${sessionId} ${event.type}`);
      if (event.type === "run.finished" && sessionId === "ses_1") break;
    }
    expect(seen).toEqual([
      "ses_1 task.started",
      "ses_2 run.started",
      "ses_2 run.finished",
      "ses_1 task.finished",
      "ses_1 run.finished",
    ]);
  });
});
