import { describe, expect, it } from "vitest";
import type { FilePart, Message, ModelCapabilities, ModelEvent } from "@capstan/core";
import { CapstanError } from "@capstan/core";
import { scriptedModel } from "@capstan/core/testing";
import { anthropicServer, collectEvents, modelRequest } from "../testing/index.ts";
import { anthropicFrom } from "../anthropic.ts";
import { tellingLeftOut } from "./left-out-files.ts";

function file(mediaType: string, name?: string): FilePart {
  return { type: "file", mediaType, data: { type: "base64", base64: "AAAA" }, ...(name !== undefined && { name }) };
}

const asked = (id: string, ...parts: Message["parts"]): Message => ({ id, role: "user", parts });
const noticesOf = (events: readonly ModelEvent[]) => events.filter(({ type }) => type === "notice");
const model = (capabilities: ModelCapabilities, failures = 0) =>
  tellingLeftOut(
    scriptedModel(
      Array.from(
        { length: 9 },
        () => (_request: unknown, attempt: number) =>
          attempt <= failures ? { error: new CapstanError("model-failed", "no", { retryable: true }) } : { text: "Hi" },
      ),
      { id: "acme/one", capabilities },
    ),
  );

describe("tellingLeftOut", () => {
  it("TOOL-43 tells of an image that the model cannot read, with the first sign of its answer", async () => {
    const events = await collectEvents(
      model({ images: false }),
      modelRequest([asked("1", file("image/png", "a.png"))]),
    );
    expect(events.slice(0, 2)).toEqual([
      {
        type: "notice",
        code: "file-left-out",
        title: "A file was left out: acme/one cannot read it",
        detail: "a.png (image/png)",
      },
      { type: "start", model: "acme/one" },
    ]);
  });

  it("tells of each message once, and of what is new", async () => {
    const told = model({ images: false });
    const first = asked("1", file("image/png"));
    const reply: Message = { id: "2", role: "assistant", parts: [{ type: "text", text: "Hi" }] };
    const next = asked("3", file("image/webp", "b.webp"), file("image/gif"));
    expect(noticesOf(await collectEvents(told, modelRequest([first])))).toHaveLength(1);
    expect(noticesOf(await collectEvents(told, modelRequest([first])))).toEqual([]);
    expect(noticesOf(await collectEvents(told, modelRequest([first, reply, next])))).toMatchObject([
      { title: "2 files were left out: acme/one cannot read them", detail: "b.webp (image/webp), image/gif" },
    ]);
    expect(noticesOf(await collectEvents(told, modelRequest([first, reply, next])))).toEqual([]);
  });

  it("tells it of the call that answers, when the first one failed", async () => {
    const told = model({ images: false }, 1);
    const request = modelRequest([asked("1", file("image/png"))]);
    await expect(collectEvents(told, request)).rejects.toThrow("no");
    expect(noticesOf(await collectEvents(told, request))).toHaveLength(1);
  });

  it("looks into results of tools", async () => {
    const result = asked("1", {
      type: "tool-result",
      callId: "c",
      name: "look",
      output: { content: [file("image/png")] },
    });
    expect(noticesOf(await collectEvents(model({ images: false }), modelRequest([result])))).toHaveLength(1);
  });

  it("says nothing of what is read, of texts, and where the model does not say what it cannot read", async () => {
    const cases: readonly (readonly [ModelCapabilities, FilePart, number])[] = [
      [{ images: true }, file("image/png"), 0],
      [{}, file("image/png"), 0],
      [{ images: false, files: ["application/pdf"] }, file("application/pdf"), 0],
      [{ files: ["application/pdf"] }, file("application/zip"), 1],
      [{}, file("application/zip"), 0],
      [{ files: [] }, file("text/csv"), 0],
      [{ files: [] }, { ...file("text/csv"), data: { type: "url", url: "https://example.com/a.csv" } }, 1],
      [{ images: true, files: [] }, file("image/tiff"), 1],
    ];
    for (const [capabilities, part, count] of cases) {
      const events = await collectEvents(model(capabilities), modelRequest([asked("1", part)]));
      expect([part.mediaType, noticesOf(events).length]).toEqual([part.mediaType, count]);
    }
  });

  it("names at most ten", async () => {
    const parts = Array.from({ length: 12 }, (_, index) => file("image/png", `${index}.png`));
    const [notice] = noticesOf(await collectEvents(model({ images: false }), modelRequest([asked("1", ...parts)])));
    expect(notice).toMatchObject({ title: "12 files were left out: acme/one cannot read them" });
    expect(notice?.type === "notice" ? notice.detail : "").toMatch(/9\.png \(image\/png\), and 2 more$/);
  });

  it("TOOL-43 is part of a provider: the text in its place goes out, people hear of it", async () => {
    await using server = await anthropicServer(() => ({ content: [{ type: "text", text: "I cannot see it." }] }));
    const blind = anthropicFrom({}, "claude-x", { apiKey: "k", baseUrl: server.url, capabilities: { images: false } });
    const events = await collectEvents(blind, modelRequest([asked("1", file("image/png", "chart.png"))]));
    expect(noticesOf(events)).toMatchObject([{ code: "file-left-out", detail: "chart.png (image/png)" }]);
    expect(server.requests[0]?.text).toContain("[File chart.png (image/png): this model cannot read it]");
  });
});
