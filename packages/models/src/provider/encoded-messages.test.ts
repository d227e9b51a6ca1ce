import type { Message, Part } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { base64Of } from "./files.ts";
import { messageEncoder } from "./encoded-messages.ts";

const IMAGE = { type: "file", mediaType: "image/png", data: { type: "blob", hash: "h", size: 1 } } as const;

function call(callId: string): Message {
  const seal = { provider: "p", data: { id: "own" } };
  const part: Part = { type: "tool-call", callId, name: "look", input: {}, by: "capstan", seal };
  return { id: `a${callId}`, role: "assistant", parts: [part] };
}

function result(callId: string): Message {
  const part: Part = { type: "tool-result", callId, name: "look", output: { content: [IMAGE] } };
  return { id: `u${callId}`, role: "user", parts: [part] };
}

/** Encodes ids of calls, and the bytes of images in results; counts what it encodes. */
function encoder() {
  const encoded: string[] = [];
  const encode = messageEncoder("p", (message, { blobs, idOfCall, idOfResult }) => {
    encoded.push(message.id);
    const [part] = message.parts;
    if (part?.type === "tool-call") return idOfCall(part);
    return part?.type === "tool-result" ? `${idOfResult(part.callId)}:${base64Of(IMAGE, blobs) ?? "absent"}` : "text";
  });
  return { encoded, encode: (messages: readonly Message[]) => encode(messages, async () => Buffer.from("png")) };
}

const hello: Message = { id: "hello", role: "user", parts: [{ type: "text", text: "Hello" }] };
const PNG = Buffer.from("png").toString("base64");

describe("messageEncoder", () => {
  it("goes on from where the last turn ended, and begins again when the beginning is another", async () => {
    const { encode, encoded } = encoder();
    const [one, two] = [call("1"), result("1")];
    expect(await encode([hello, one])).toEqual(["text", "own"]);
    expect(await encode([hello, one, two])).toEqual(["text", "own", `own:${PNG}`]);
    expect(encoded).toEqual(["hello", "a1", "u1"]);
    expect(await encode([hello, two])).toEqual(["text", expect.stringMatching(/^call_.*:/)]);
    expect(await encode([hello, one, two])).toEqual(["text", "own", `own:${PNG}`]);
  });

  it("keeps the images of a result that another conversation answers under another id", async () => {
    const { encode } = encoder();
    const [one, two, reply] = [call("1"), call("2"), result("2")];
    expect(await encode([hello, two, reply])).toEqual(["text", "own", `own:${PNG}`]);
    const [, , id, sent] = await encode([hello, one, two, reply]);
    expect(id).toMatch(/^call_/);
    expect(sent).toBe(`${id}:${PNG}`);
  });

  it("keeps conversations apart that are encoded at once", async () => {
    const { encode } = encoder();
    const turns = [[hello, call("1"), result("1")], [hello, call("2"), result("2")], [hello]];
    const all = await Promise.all([...turns, ...turns].map((messages) => encode(messages)));
    const expected = ["text", "own", `own:${PNG}`];
    expect(all).toEqual([expected, expected, ["text"], expected, expected, ["text"]]);
  });
});
