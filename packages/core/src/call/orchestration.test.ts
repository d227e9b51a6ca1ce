import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { textOf } from "../words/message.ts";
import type { Runtime } from "../session/runtime.ts";
import { crashSweep } from "../testing/crash-sweep.ts";
import { scriptedModel, type ScriptedReply } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { logOf, ofType, soon } from "../testing/waiting.ts";
import { flowTool } from "../ports/tool.ts";

/** An agent that answers as this function says of its task. */
function expert(name: string, answers: (task: string) => string) {
  const reply: ScriptedReply = ({ messages }) => ({ text: answers(textOf(messages[0]?.parts ?? [])) });
  return agent({ name, model: scriptedModel([reply]), instructions: "x" });
}

/** Two researchers beside each other, a writer on what both found, and a reviewer who may send it back, three times at most. */
function report(seen: string[] = []) {
  const write = flowTool({
    name: "report",
    description: "Writes a report.",
    input: z.object({ topic: z.string() }),
    async flow({ topic }, { spawn }) {
      const found = await Promise.all(
        ["north", "south"].map((side) => spawn(`research-${side}`, "researcher", `${topic} in the ${side}`)),
      );
      let draft = found.map(({ text }) => text).join("; ");
      for (let round = 1; round <= 3; round++) {
        draft = (await spawn(`write-${round}`, "writer", draft)).text;
        const { text } = await spawn(`review-${round}`, "reviewer", draft);
        if (text === "Good.") break;
      }
      return draft;
    },
  });
  const model = scriptedModel([{ calls: [{ name: "report", input: { topic: "Rain" } }] }, { text: "Reported." }]);
  const note = (name: string, answers: (task: string) => string) =>
    expert(name, (task) => {
      seen.push(`${name}: ${task}`);
      return answers(task);
    });
  const team = [
    note("researcher", (task) => `${task} is heavy`),
    note("writer", (task) => `${task}!`),
    note("reviewer", (task) => (task.endsWith("!!") ? "Good." : "Again.")),
  ];
  return [agent({ name: "lead", model, instructions: "x", tools: [write] }), ...team];
}

const go = (runtime: Runtime) => runtime.send("lead", "Go");

describe("a flow that conducts agents", () => {
  it("SUB-09 SUB-02 spawns agents of the runtime by name: beside each other, one on the results of others, in a loop", async () => {
    const seen: string[] = [];
    const runtime = await testRuntime({ agents: report(seen) });
    const run = await go(runtime);
    expect(await soon(run.text())).toBe("Reported.");
    const facts = "Rain in the north is heavy; Rain in the south is heavy";
    expect(seen.slice(0, 2).toSorted()).toEqual(["researcher: Rain in the north", "researcher: Rain in the south"]);
    expect(seen.slice(2)).toEqual([
      `writer: ${facts}`,
      `reviewer: ${facts}!`,
      `writer: ${facts}!`,
      `reviewer: ${facts}!!`,
    ]);
    const [end] = ofType(await logOf(runtime.store, run.session.id), "tool.finished");
    expect(textOf(end?.output.content ?? [])).toBe(`${facts}!!`);
    await runtime.close();
  });

  it(
    "SUB-09 EDGE-02 goes on where it was whenever its process crashes: no agent works twice",
    { timeout: 60_000 },
    async () => {
      const { crashes } = await crashSweep({ agents: report(), journey: go });
      expect(crashes).toBeGreaterThan(100);
    },
  );
});
