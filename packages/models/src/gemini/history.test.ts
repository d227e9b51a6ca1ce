import type { Message, ModelRequest, Part, Seal, ToolCallPart, ToolOutput } from "@capstan/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkGeminiContents, modelRequest } from "../testing/index.ts";
import { bodyEncoder, type BodyOptions } from "./body.ts";
import { NO_SIGNATURE } from "./parts.ts";

const MODEL = "gemini-3.8-flash";
const options: BodyOptions = {
  modelId: MODEL,
  maxOutputTokens: undefined,
  maxOutputLimit: 65_536,
  thinking: { kind: "none" },
  images: true,
  files: ["application/pdf"],
  imageInToolResult: true,
  checksSignatures: true,
  extraBody: undefined,
};

type Content = { readonly role: string; readonly parts: readonly { readonly [name: string]: unknown }[] };

async function text(messages: readonly Message[], more: Partial<ModelRequest> = {}, encode = bodyEncoder(options)) {
  return (await encode(modelRequest(messages, more))).join("");
}

async function contents(messages: readonly Message[], more: Partial<ModelRequest> = {}, encode = bodyEncoder(options)) {
  const body = JSON.parse(await text(messages, more, encode)) as { readonly contents: readonly Content[] };
  return body.contents;
}

let ids = 0;
function message(role: Message["role"], ...parts: readonly (Part | string)[]): Message {
  const id = `m${ids++}`;
  return { id, role, parts: parts.map((part) => (typeof part === "string" ? { type: "text", text: part } : part)) };
}
function sealed(data: object, model = MODEL): Seal {
  return { provider: "gemini", data: { ...data, model } };
}
function call(callId: string, seal?: Seal, input: ToolCallPart["input"] = {}): ToolCallPart {
  return { type: "tool-call", callId, name: "t", input, by: "capstan", ...(seal !== undefined && { seal }) };
}
function result(callId: string, output: Partial<ToolOutput> = {}): Part {
  return { type: "tool-result", callId, name: "t", output: { content: [{ type: "text", text: "done" }], ...output } };
}
function file(mediaType: string, base64 = "aGk=", name?: string): Extract<Part, { type: "file" }> {
  return { type: "file", mediaType, data: { type: "base64", base64 }, ...(name !== undefined && { name }) };
}

describe("gemini's history", () => {
  it("joins messages of one role, with the answers to calls first", async () => {
    const sent = await contents([
      message("user", "a"),
      message("user", "b"),
      message("assistant", "c", call("c1", sealed({ id: "fc1", signature: "s" }))),
      message("user", "steer"),
      message("user", result("c1"), "more"),
      message("system", "mode is plan"),
    ]);
    expect(sent).toEqual([
      { role: "user", parts: [{ text: "a" }, { text: "b" }] },
      {
        role: "model",
        parts: [{ text: "c" }, { functionCall: { id: "fc1", name: "t", args: {} }, thoughtSignature: "s" }],
      },
      {
        role: "user",
        parts: [
          { functionResponse: { id: "fc1", name: "t", response: { output: "done" } } },
          { text: "steer" },
          { text: "more" },
          { text: "<system>mode is plan</system>" },
        ],
      },
    ]);
  });

  it("sends no empty text and drops messages that hold nothing", async () => {
    const sent = await contents([message("user", " ", "a", ""), message("assistant", " \n"), message("user", "b")]);
    expect(sent).toEqual([{ role: "user", parts: [{ text: "a" }, { text: "b" }] }]);
  });

  it("MODEL-16 drops what others and other models have sealed, and says so of calls", async () => {
    const foreign: Seal = { provider: "openai", data: { id: "fc_1", signature: "foreign" } };
    const history = [
      message("user", "a"),
      message(
        "assistant",
        { type: "reasoning", text: "mine", seal: sealed({ signature: "s1", tail: 4 }) },
        { type: "reasoning", text: "another model's", seal: sealed({ signature: "other", tail: 4 }, "gemini-3-x") },
        { type: "reasoning", text: "unsealed" },
        { type: "reasoning", text: "foreign", seal: foreign },
        { type: "opaque", seal: foreign },
        { type: "opaque", seal: sealed({ part: { toolCall: { id: "t" } } }, "gemini-3-x") },
        "b",
        { type: "opaque", seal: sealed({ signature: "other", tail: 1 }, "gemini-3-x") },
        call("run/1/0", foreign),
        call("run/1/1", sealed({ id: "kept", signature: "other" }, "gemini-3-x")),
        { ...call("run/1/2"), by: "provider" },
      ),
      message("user", result("run/1/0"), result("run/1/1")),
    ];
    const sent = await contents(history);
    expect(sent[1]?.parts).toMatchObject([
      { text: "mine", thought: true, thoughtSignature: "s1" },
      { text: "b" },
      { functionCall: { name: "t" }, thoughtSignature: NO_SIGNATURE },
      { functionCall: { name: "t", id: "kept" } },
    ]);
    expect(JSON.stringify(sent)).not.toMatch(/foreign|"other"/);
    expect(checkGeminiContents(sent, { model: MODEL })).toEqual([]);
    const older = await contents(history, {}, bodyEncoder({ ...options, checksSignatures: false }));
    expect(JSON.stringify(older)).not.toContain(NO_SIGNATURE);
  });

  it("makes an object of every input, and ids that are unique", async () => {
    const inputs = [{ a: 1 }, null, "raw {", [1], 5];
    const parts = inputs.map((input, index) => call(`c${index}`, sealed({ id: "same" }), input));
    const sent = await contents([
      message("user", "a"),
      message("assistant", ...parts),
      message("user", ...parts.map(({ callId }) => result(callId))),
    ]);
    const calls = sent[1]?.parts.map(
      (part) => Object(part["functionCall"]) as { readonly id: string; readonly args: unknown },
    );
    expect(calls?.map(({ args }) => args)).toEqual([{ a: 1 }, {}, { input: "raw {" }, { input: [1] }, { input: 5 }]);
    expect(new Set(calls?.map(({ id }) => id)).size).toBe(5);
    expect(checkGeminiContents(sent, { model: MODEL })).toEqual([]);
  });

  it("sends results of every kind", async () => {
    const diff = { type: "diff", path: "a.ts", before: "1\n2\n3", after: "1\nx\n3" } as const;
    const outputs: Partial<ToolOutput>[] = [
      { content: [{ type: "text", text: "t" }, diff] },
      { content: [], output: { a: 1 } },
      { content: [], isError: true },
      { isError: true },
    ];
    const calls = outputs.map((_, index) => call(`c${index}`));
    const sent = await contents([
      message("user", "a"),
      message("assistant", ...calls),
      message("user", ...outputs.map((output, index) => result(`c${index}`, output))),
    ]);
    expect(sent[2]?.parts.map((part) => Object(part["functionResponse"]).response)).toEqual([
      { output: "t\na.ts @@ -2,1 +2,1 @@\n-2\n+x" },
      { output: { a: 1 } },
      { error: "" },
      { error: "done" },
    ]);
  });

  it("TOOL-43 TOOL-25 puts media into results where the model takes it, else right behind them", async () => {
    const content = [
      { type: "text", text: "t" } as const,
      file("image/png", "aGk=", "a.png"),
      file("application/pdf"),
      { type: "file", mediaType: "image/png", data: { type: "url", url: "https://x.example/a.png" } } as const,
      file("image/gif"),
    ];
    const history = [
      message("user", "a"),
      message("assistant", call("c1")),
      message("user", result("c1", { content })),
    ];
    const png = { inlineData: { mimeType: "image/png", data: "aGk=" } };
    const pdf = { inlineData: { mimeType: "application/pdf", data: "aGk=" } };
    const url = { fileData: { mimeType: "image/png", fileUri: "https://x.example/a.png" } };
    const label = { text: "[File of the result of t]" };
    const gif = "[File image/gif: this model cannot read it]";
    const response = (output: string, more: object = {}): object => ({
      functionResponse: { id: expect.any(String), name: "t", response: { output }, ...more },
    });
    const below = "see the message below]";
    expect((await contents(history))[2]?.parts).toEqual([
      response(`t\n[File image/png: ${below}\n${gif}`, { parts: [png, pdf] }),
      label,
      url,
    ]);
    const older = await contents(history, {}, bodyEncoder({ ...options, imageInToolResult: false }));
    expect(older[2]?.parts).toEqual([
      response(
        `t\n[File a.png (image/png): ${below}\n[File application/pdf: ${below}\n[File image/png: ${below}\n${gif}`,
      ),
      label,
      png,
      label,
      pdf,
      label,
      url,
    ]);
    expect(checkGeminiContents(older, { model: MODEL })).toEqual([]);
  });

  it("TOOL-43 sends images, documents and texts, inline, from blobs and by URL", async () => {
    const base64 = Buffer.from("hello").toString("base64");
    const parts: Part[] = [
      file("image/png", base64),
      { type: "file", mediaType: "image/jpg", data: { type: "blob", hash: "h1", size: 5 } },
      { type: "file", mediaType: "image/webp", data: { type: "url", url: "https://x.example/a.webp" } },
      { type: "file", mediaType: "application/pdf", data: { type: "blob", hash: "h1", size: 5 } },
      file("text/markdown", base64, "a.md"),
      file("text/plain", "IA==", "blank.txt"),
      file("audio/wav", base64, "a.wav"),
    ];
    const asked: string[] = [];
    const blob = async (hash: string): Promise<Uint8Array> => {
      asked.push(hash);
      return Buffer.from("hello");
    };
    const encode = bodyEncoder(options);
    const history = [message("user", ...parts)];
    const [first] = await contents(history, { blob }, encode);
    expect(await contents(history, { blob }, encode)).toEqual([first]);
    expect(asked).toEqual(["h1"]);
    expect(first?.parts).toEqual([
      { inlineData: { mimeType: "image/png", data: base64 } },
      { inlineData: { mimeType: "image/jpeg", data: base64 } },
      { fileData: { mimeType: "image/webp", fileUri: "https://x.example/a.webp" } },
      { inlineData: { mimeType: "application/pdf", data: base64 } },
      { text: "a.md:\nhello" },
      { text: "[File blank.txt (text/plain): it is empty]" },
      { text: "[File a.wav (audio/wav): this model cannot read it]" },
    ]);
    const blind = await contents([message("user", file("image/png"))], {}, bodyEncoder({ ...options, images: false }));
    expect(blind[0]?.parts).toEqual([{ text: "[File image/png: this model cannot read it]" }]);
  });

  it("TOOL-25 refuses what is too large before it is sent", async () => {
    const large = "A".repeat(7_100_000);
    await expect(contents([message("user", file("image/png", large, "a.png"))])).rejects.toMatchObject({
      code: "model-invalid-request",
      provider: "gemini",
      message: "[File a.png (image/png): too large for Gemini: 6 MB, at most 5] Send a smaller one.",
    });
    await expect(contents([message("user", file("application/pdf", large))])).resolves.toHaveLength(1);
    await expect(contents([message("user", file("application/pdf", "A".repeat(45_000_000)))])).rejects.toMatchObject({
      code: "model-invalid-request",
    });
  });

  it("replaces lone surrogates, which the API refuses", async () => {
    const broken = `x${"\u{1F600}".slice(0, 1)}y`;
    const sent = await contents([message("user", broken)]);
    expect(sent).toEqual([{ role: "user", parts: [{ text: "x\uFFFDy" }] }]);
  });

  it("COST-09 begins every request with the bytes of the one before, in another process too", async () => {
    const tools = [{ name: "t", description: "d", inputSchema: { type: "object" } }];
    const history = [message("user", "a")];
    const encode = bodyEncoder(options);
    let before = "";
    for (let turn = 0; turn < 4; turn++) {
      const now = await text(history, { tools }, encode);
      expect(now.startsWith(before.slice(0, -2))).toBe(true);
      const copy = JSON.parse(JSON.stringify(history)) as Message[];
      expect(await text(copy, { tools }, bodyEncoder(options))).toBe(now);
      before = now;
      const made = call(`run/${turn}/0`, sealed({ id: `fc${turn}`, signature: `s${turn}` }), { turn });
      const thought: Part = { type: "reasoning", text: "Hm", seal: sealed({ signature: `t${turn}`, tail: 1 }) };
      history.push(message("assistant", thought, "x", made), message("user", result(made.callId)));
    }
  });

  it("encodes every history that is valid for the loop to one that the API accepts", async () => {
    const textPart = fc.constantFrom("hello", " ", "x \n", "\uD800");
    const turn = fc.record({
      lead: fc.array(textPart, { maxLength: 2 }),
      think: fc.boolean(),
      signed: fc.option(fc.nat(8)),
      calls: fc.array(fc.constantFrom("dup", "fc1", "bad id", undefined), { maxLength: 4 }),
      split: fc.boolean(),
      steer: fc.option(textPart),
      follow: fc.array(textPart, { maxLength: 2 }),
    });
    const encode = bodyEncoder(options);
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { maxLength: 5 }), async (turns) => {
        const history = [message("user", "begin")];
        for (const [index, { lead, think, signed, calls, split, steer, follow }] of turns.entries()) {
          const made = calls.map((id, at) => call(`r/${index}/${at}`, id === undefined ? undefined : sealed({ id })));
          const thought: Part = { type: "reasoning", text: "t", seal: sealed({ signature: "s", tail: 1 }) };
          const mark: Part[] =
            signed === null ? [] : [{ type: "opaque", seal: sealed({ signature: "s", tail: signed }) }];
          history.push(message("assistant", ...(think ? [thought] : []), ...lead, ...mark, ...made));
          const results = made.map(({ callId }) => result(callId));
          if (steer !== null) history.push(message("user", steer));
          if (split) history.push(...results.map((part) => message("user", part)));
          else history.push(message("user", ...results, ...follow));
        }
        expect(checkGeminiContents(await contents(history, {}, encode), { model: MODEL })).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});
