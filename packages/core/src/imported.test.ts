import { describe, expect, it } from "vitest";
import { agent } from "./agent.ts";
import type { Message, Part } from "./message.ts";
import { scriptedModel } from "./testing/scripted-model.ts";
import { testRuntime } from "./testing/test-runtime.ts";

const text = (value: string): Part => ({ type: "text", text: value });
const call = (callId: string): Part => ({ type: "tool-call", callId, name: "look", input: {}, by: "client" });
const result = (callId: string): Part => ({
  type: "tool-result",
  callId,
  name: "look",
  output: { content: [{ type: "text", text: "rain" }] },
});
const user = (id: string, ...parts: Part[]): Message => ({ id, role: "user", parts });
const assistant = (id: string, ...parts: Part[]): Message => ({ id, role: "assistant", parts });

async function begun(messages: readonly Message[]) {
  const model = scriptedModel([{ text: "a" }, { text: "b" }, { text: "c" }]);
  const guide = agent({ name: "guide", model, instructions: "Short." });
  await using runtime = await testRuntime({ agents: [guide] });
  const session = await runtime.session({ agent: guide, messages });
  const reply = await (await session.send("And now?")).text();
  return { reply, asked: model.requests[0]?.messages.map(({ id }) => id) };
}

describe("a history that is brought along", () => {
  it("G4 SEC-07 stands before the first input", async () => {
    const history = [
      user("u1", text("Hi")),
      assistant("a1", text("See."), call("c1")),
      user("u2", result("c1")),
      assistant("a2", text("Rain.")),
    ];
    const { reply, asked } = await begun(history);
    expect(asked).toEqual(["u1", "a1", "u2", "a2", "in_1"]);
    expect(reply).toBe("c");
  });

  for (const [what, history] of [
    ["a call at its end", [user("u1", text("Hi")), assistant("a1", call("c1"))]],
    ["a call that is not answered", [assistant("a1", call("c1")), user("u1", text("Hi"))]],
    ["one of two calls that is not answered", [assistant("a1", call("c1"), call("c2")), user("u1", result("c1"))]],
    ["a result without its call", [user("u1", result("c1"))]],
    ["a result given twice", [assistant("a1", call("c1")), user("u1", result("c1"), result("c1"))]],
    ["the same call twice", [assistant("a1", call("c1"), call("c1")), user("u1", result("c1"))]],
    ["the same id twice", [user("u1", text("Hi")), user("u1", text("Ho"))]],
    ["an empty message", [user("u1")]],
    ["a call of the user", [user("u1", call("c1"))]],
    ["results of the assistant", [assistant("a1", call("c1")), assistant("a2", result("c1"))]],
  ] as const satisfies readonly (readonly [string, readonly Message[]])[]) {
    it(`G4 SEC-07 is refused for ${what}, and leaves no session`, async () => {
      await expect(begun(history)).rejects.toMatchObject({ code: "input-invalid" });
    });
  }
});
