import { describe, expect, it } from "vitest";
import { agent } from "../ports/agent.ts";
import { fileTokens } from "./file-tokens.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";

function png(width: number, height: number): Uint8Array {
  const bytes = Buffer.alloc(64);
  bytes.write("\u0089PNG\r\n\u001a\n", 0, "latin1");
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes;
}

function jpeg(width: number, height: number): Uint8Array {
  const bytes = Buffer.alloc(64);
  bytes.set([0xff, 0xd8, 0xff, 0xe0, 0, 16], 0);
  bytes.set([0xff, 0xc0, 0, 17, 8], 20);
  bytes.writeUInt16BE(height, 25);
  bytes.writeUInt16BE(width, 27);
  return bytes;
}

const gif = (): Uint8Array => Buffer.concat([Buffer.from("GIF89a"), Buffer.from([100, 0, 50, 0]), Buffer.alloc(30)]);
const pdf = (pages: number, bytes: number): Uint8Array => {
  const text = `%PDF-1.7\n/Type /Pages /Count ${pages}\n${"/Type /Page\n".repeat(pages)}`;
  return Buffer.concat([Buffer.from(text), Buffer.alloc(Math.max(0, bytes - text.length))]);
};
const image = { mediaType: "image/png" };
const paper = { mediaType: "application/pdf" };

describe("fileTokens", () => {
  it("EDGE-08 counts an image by its size, as the dearest provider does", () => {
    expect(fileTokens(image, png(32, 32), "m")).toBe(1_200);
    expect(fileTokens(image, png(1_568, 1_568), "m")).toBeGreaterThan(1_568 ** 2 / 750);
    expect(fileTokens(image, png(20_000, 20_000), "m")).toBe(5_000);
    expect(fileTokens(image, jpeg(1_000, 1_400), "m")).toBe(2_000);
    expect(fileTokens(image, gif(), "m")).toBe(1_200);
    expect(fileTokens(image, Buffer.alloc(64), "m")).toBe(5_000);
    expect(fileTokens(image, new Uint8Array(), "m")).toBe(5_000);
    expect(fileTokens(image, undefined, "m")).toBe(5_000);
    expect(fileTokens(image, png(128, 64), "openai/gpt-4o-mini")).toBe(8_500);
    expect(fileTokens(image, png(4_096, 4_096), "openai/gpt-4o-mini")).toBe(2_833 + 8 * 5_667);
  });

  it("EDGE-08 counts a PDF by its pages, by its size where it hides them, and never beyond what any provider takes", () => {
    expect(fileTokens(paper, pdf(1, 20_000), "m")).toBe(5_000);
    expect(fileTokens(paper, pdf(30, 1_000_000), "m")).toBe(150_000);
    expect(fileTokens(paper, pdf(0, 32 * 1_024 * 1_024), "m")).toBe(5_000_000);
    expect(fileTokens(paper, pdf(1, 32 * 1_024 * 1_024), "m")).toBe(164 * 5_000);
    expect(fileTokens(paper, Buffer.from("%PDF-1.7 /ObjStm"), "m")).toBe(5_000);
    expect(fileTokens(paper, undefined, "m")).toBe(undefined);
  });

  it("EDGE-08 counts other files by their bytes", () => {
    expect(fileTokens({ mediaType: "text/plain" }, Buffer.alloc(1_000), "m")).toBe(1_000);
    expect(fileTokens({ mediaType: "audio/mpeg" }, Buffer.alloc(1_000_000), "m")).toBe(32_000);
  });

  const send = async (bytes: Uint8Array, mediaType: string, tokens: number, contextTokens?: number) => {
    const capabilities = contextTokens === undefined ? {} : { contextTokens };
    const model = scriptedModel([{ text: "ok" }], { capabilities });
    const lead = agent({ name: "lead", model, instructions: "Lead.", limits: { tokens } });
    await using runtime = await testRuntime({ agents: [lead] });
    const base64 = Buffer.from(bytes).toString("base64");
    const run = await runtime.send(lead, [{ type: "file", mediaType, data: { type: "base64", base64 } }]);
    return (await run.result()).reason;
  };

  it("EDGE-08 a small icon fits a small budget, a large PDF does not, and both are bounded by what the model takes", async () => {
    expect(await send(png(32, 32), "image/png", 2_500)).toBe("end-turn");
    const large = pdf(100, 2_000_000);
    expect(await send(large, "application/pdf", 100_000)).toBe("budget");
    expect(await send(large, "application/pdf", 100_000, 64_000)).toBe("end-turn");
  });
});
