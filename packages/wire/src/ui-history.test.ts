import { agent, type Envelope, type Json, jsonSchema, tool } from "@capstan/core";
import { scriptedModel, testRuntime } from "@capstan/core/testing";
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { describe, expect, it } from "vitest";
import { uiHistory } from "./ui-history.ts";
import { uiStream } from "./ui-stream.ts";

describe("uiHistory", () => {
  it("STREAM-04 gives the messages that a client of ai 7 had when it saw everything", async () => {
    const input = jsonSchema<Json>({ type: "object" });
    const pay = tool({ name: "pay", description: "Pays.", input, permission: "ask", execute: () => "paid" });
    const fail = tool({
      name: "fail",
      description: "Fails.",
      input,
      permission: "allow",
      execute: () => {
        throw new Error("broken");
      },
    });
    const model = scriptedModel([
      {
        reasoning: "Pay first.",
        text: "I pay.",
        calls: [
          { name: "pay", input: { cents: 5 } },
          { name: "fail", input: {} },
        ],
      },
      { text: "Done." },
    ]);
    const clerk = agent({ name: "clerk", model, instructions: "Pay.", tools: [pay, fail] });
    await using runtime = await testRuntime({ agents: [clerk], permission: { mode: "ask" } });
    const run = await runtime.send(clerk, "Pay", { tags: { "ui-message": "m1" } });
    const waiting = await run.result();
    await run.session.respond(waiting.requests[0]?.requestId ?? "", {
      type: "permission",
      allow: true,
      reason: "fine",
    });
    await run.result();
    const envelopes: Envelope[] = [];
    for await (const envelope of run.session.events({ live: false })) {
      envelopes.push(envelope);
      if (envelope.event.type === "run.finished") break;
    }
    const history = uiHistory();
    for (const envelope of envelopes) history.push(envelope);
    const stream = uiStream({ runId: run.id, inputId: run.inputId });
    const chunks = envelopes.filter(({ event }) => event.runId === run.id).flatMap((envelope) => stream.push(envelope));
    let shown: UIMessage | undefined;
    const readable = new ReadableStream<UIMessageChunk>({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(chunk as UIMessageChunk);
        controller.close();
      },
    });
    for await (const snapshot of readUIMessageStream({ stream: readable, terminateOnError: true })) shown = snapshot;
    const [said, answer] = JSON.parse(JSON.stringify(history.messages)) as UIMessage[];
    expect(said).toEqual({ id: "m1", role: "user", parts: [{ type: "text", text: "Pay" }] });
    expect({ ...answer, parts: answer?.parts.map(plain) }).toEqual({
      ...(JSON.parse(JSON.stringify(shown)) as UIMessage),
      parts: (JSON.parse(JSON.stringify(shown?.parts)) as UIMessage["parts"]).map(plain),
    });
  });
});

/** Without what is only of a stream: pieces of arguments as they came. */
function plain(part: UIMessage["parts"][number]): unknown {
  return part.type === "dynamic-tool" ? { ...part, rawInput: undefined } : part;
}
