import { describe, expect, it } from "vitest";
import { agent } from "../ports/agent.ts";
import type { Message, Part } from "../words/message.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";

const text = (value: string): Part => ({ type: "text", text: value });
const call = (callId: string): Part => ({ type: "tool-call", callId, name: "look", input: {}, by: "client" });
const result = (callId: string): Part => ({
  type: "tool-result",
  callId,
  name: "look",
  output: { content: [{ type: "text", text: "rain" }] },
});
const user = (id: string, ...parts: Part[]): Message => ({ id, role: "user", parts });
const ASKED: Message = { id: "u0", role: "user", parts: [text("Hi")] };
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

  for (const [what, history, why] of [
    ["a call at its end", [ASKED, assistant("a1", call("c1"))], /ends with the call c1/],
    [
      "a call that is not answered",
      [ASKED, assistant("a1", call("c1")), user("u1", text("Hi"))],
      /not answer the call c1/,
    ],
    [
      "one of two calls that is not answered",
      [ASKED, assistant("a1", call("c1"), call("c2")), user("u1", result("c1"))],
      /not answer the call c2/,
    ],
    ["a result without its call", [user("u1", result("c1"))], /answers c1, which nothing/],
    [
      "a result given twice",
      [ASKED, assistant("a1", call("c1")), user("u1", result("c1"), result("c1"))],
      /answers c1/,
    ],
    [
      "the same call twice",
      [ASKED, assistant("a1", call("c1"), call("c1")), user("u1", result("c1"))],
      /same call twice/,
    ],
    ["the same id twice", [user("u1", text("Hi")), user("u1", text("Ho"))], /id "u1" of another/],
    ["an empty message", [user("u1")], /is empty/],
    ["a call of the user", [user("u1", call("c1"))], /tool-call, but is not the assistant's/],
    ["a thought of the user", [user("u1", { type: "reasoning", text: "Hm" })], /reasoning, but is not the assistant's/],
    ["results of the assistant", [ASKED, assistant("a1", call("c1")), assistant("a2", result("c1"))], /not the user's/],
    ["a name that no tool can have", [ASKED, assistant("a1", { ...call("c1"), name: "a b" } as Part)], /by a name/],
    ["an answer before every question", [assistant("a1", text("Hi"))], /before anybody asked/],
    ["an answer to nothing but blanks", [user("u1", text(" ")), assistant("a1", text("Hi"))], /before anybody asked/],
  ] as const satisfies readonly (readonly [string, readonly Message[], RegExp])[]) {
    it(`G4 SEC-07 is refused for ${what}, and leaves no session`, async () => {
      const refused = expect(begun(history)).rejects;
      await refused.toMatchObject({ code: "input-invalid", message: expect.stringMatching(why) as string });
    });
  }

  it("G4 SEC-07 is refused when it is none, whatever it is in its place", async () => {
    const junk: readonly unknown[] = [
      "history",
      {},
      [null],
      ["Hi"],
      [{ role: "user", content: "Hi" }],
      [{ id: "u1", role: "tool", parts: [text("Hi")] }],
      [{ id: "u1", role: "user", parts: "Hi" }],
      [{ id: "u1", role: "user", parts: [null] }],
      [{ id: "u1", role: "user", parts: [{ type: "text" }] }],
      [{ id: "u1", role: "user", parts: [{ type: "tool-result", callId: "c1" }] }],
      [{ id: "u1", role: "user", parts: [{ type: "opaque" }] }],
      [{ id: "u1", role: "user", parts: [{ type: "file", mediaType: "image/png" }] }],
      [{ id: "u1", role: "user", parts: [{ type: "telepathy" }] }],
    ];
    for (const history of junk)
      await expect(begun(history as readonly Message[])).rejects.toMatchObject({ code: "input-invalid" });
  });
});
