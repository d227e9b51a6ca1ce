import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import type { Runtime } from "../session/runtime.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { ofType, soon, until } from "../testing/waiting.ts";
import { World } from "../testing/world.ts";
import { type FlowContext, flowTool } from "../ports/tool.ts";

class FlowWorld extends World {
  start(flow: (context: FlowContext) => Promise<string>): Promise<Runtime> {
    const work = flowTool({
      name: "work",
      description: "Works.",
      input: z.object({}),
      flow: (_input, context) => flow(context),
    });
    const model = scriptedModel([{ calls: [{ name: "work", input: {} }] }, { text: "Ok." }]);
    return this.open({ agents: [agent({ name: "guide", model, instructions: "x", tools: [work] })], work: "all" });
  }
}

describe("a step that failed", () => {
  it("EDGE-02 DUR-12 is not performed again and throws the same after a restart, so that the flow takes the same way", async () => {
    const world = new FlowWorld();
    const ran: string[] = [];
    const told: string[] = [];
    let hang = true;
    const flow = async ({ step }: FlowContext): Promise<string> => {
      const said = await step("pay", (): string => {
        ran.push("pay");
        throw new Error("card refused");
      }).catch((error: unknown) => (error instanceof Error ? error.message : "nothing"));
      told.push(said);
      await step("refund", { rerun: "safe" }, () => {
        ran.push("refund");
        return hang ? new Promise<string>(() => undefined) : "refunded";
      });
      return said;
    };
    const first = await world.start(flow);
    const run = await first.send("guide", "Go");
    await until(() => ran.includes("refund"));
    await world.kill();
    hang = false;
    const second = await world.start(flow);
    const session = await second.session<string>(run.session.id);
    expect(await soon((await session.run())?.text() ?? Promise.reject(new Error("no run")))).toBe("Ok.");
    expect(told).toEqual(["card refused", "card refused"]);
    expect(ran).toEqual(["pay", "refund", "refund"]);
    expect(ofType(await world.log(), "tool.finished")[0]).toMatchObject({
      status: "ok",
      output: { content: [{ text: "card refused" }] },
    });
    await world.close();
  });
});
