import { describe, expect, it } from "vitest";
import { conversation } from "./conversation.ts";
import type { Fact } from "../words/event.ts";
import type { Message, Part } from "../words/message.ts";

function folded(bodies: readonly object[]) {
  const all = conversation();
  for (const [index, body] of bodies.entries()) all.apply({ key: `k${index}`, seq: index + 1, at: 0, ...body } as Fact);
  return all;
}
const said = (id: string, role: Message["role"], parts: readonly Part[], labels?: readonly string[]) => ({
  type: "message.added",
  message: { id, role, parts, ...(labels !== undefined && { labels }) },
});
const words = (text: string): Part => ({ type: "text", text });
const call = (callId: string, by: "capstan" | "provider" = "capstan"): Part => ({
  type: "tool-call",
  callId,
  name: "look",
  input: {},
  by,
});
const result = (callId: string, labels?: readonly string[]) => ({
  type: "tool.finished",
  callId,
  name: "look",
  status: "ok",
  durationMs: 0,
  output: { content: [words(callId)], ...(labels !== undefined && { labels }) },
});
const ids = (all: { readonly messages: readonly Message[] }) => all.messages.map(({ id }) => id);

describe("conversation", () => {
  it("LOOP-18 puts results in the model's order, once all are there", () => {
    const start = [said("u", "user", [words("hi")]), said("a", "assistant", [call("1"), call("2"), call("3")])];
    expect(ids(folded([...start, result("3"), result("1")]))).toEqual(["u", "a"]);
    const all = folded([...start, result("3"), result("1"), result("2")]);
    expect(ids(all)).toEqual(["u", "a", "a/results"]);
    expect(all.messages[2]).toEqual({
      id: "a/results",
      role: "user",
      parts: ["1", "2", "3"].map((callId) => ({
        type: "tool-result",
        callId,
        name: "look",
        output: { content: [words(callId)] },
      })),
    });
  });

  it("asks no result of what the provider ran itself", () => {
    const all = folded([said("a", "assistant", [call("1", "provider"), call("2")]), result("2")]);
    expect(all.messages[1]?.parts).toHaveLength(1);
  });

  it("keeps the identity of messages while they stand", () => {
    const all = folded([said("u", "user", [words("hi")])]);
    const [first] = all.messages;
    all.apply({ ...said("v", "user", [words("ho")]), key: "k", seq: 2, at: 0 } as Fact);
    expect(all.messages[0]).toBe(first);
  });

  it("EDGE-10 collects the labels of messages and results", () => {
    const all = folded([
      said("u", "user", [words("hi")], ["mail"]),
      said("a", "assistant", [call("1"), call("2")]),
      result("1", ["web"]),
      result("2", ["web", "file"]),
    ]);
    expect(all.labels).toEqual(["mail", "web", "file"]);
    expect(all.messages[2]?.labels).toEqual(["web", "file"]);
  });

  it("CTX-08 a compaction takes the place of what it sums up, and what came after stays", () => {
    const summary = [words("they said hi")];
    const facts = [
      said("u", "user", [words("hi")]),
      said("a", "assistant", [words("ho")]),
      said("v", "user", [words("and?")]),
      { type: "context.compacted", throughSeq: 2, summary },
      said("b", "assistant", [words("so")]),
    ];
    const all = folded(facts);
    expect(ids(all)).toEqual(["compaction/4", "v", "b"]);
    expect(all.messages[0]?.parts).toEqual(summary);
    const again = folded([...facts, { type: "context.compacted", throughSeq: 5, summary }]);
    expect(ids(again)).toEqual(["compaction/6"]);
  });

  it("CTX-08 reading from the compaction on gives the same messages", () => {
    const facts = [
      said("u", "user", [words("hi")]),
      said("a", "assistant", [words("ho")]),
      said("v", "user", [words("and?")]),
      { type: "context.compacted", throughSeq: 2, summary: [words("sum")] },
      said("b", "assistant", [words("so")]),
    ].map((body, index) => ({ key: `k${index}`, seq: index + 1, at: 0, ...body }) as unknown as Fact);
    const whole = conversation();
    const tail = conversation();
    for (const fact of facts) whole.apply(fact);
    for (const fact of facts.slice(2)) tail.apply(fact);
    expect(tail.messages).toEqual(whole.messages);
  });

  it("EDGE-10 labels are kept through a compaction, also by who reads only from there on", () => {
    const facts = [
      said("u", "user", [words("hi")], ["untrusted"]),
      { type: "context.compacted", throughSeq: 1, summary: [words("sum")], labels: ["untrusted"] },
    ].map((body, index) => ({ key: `k${index}`, seq: index + 1, at: 0, ...body }) as unknown as Fact);
    const tail = conversation();
    for (const fact of facts.slice(1)) tail.apply(fact);
    expect(tail.labels).toEqual(["untrusted"]);
  });
});
