import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type SseEvent, sseReader } from "./sse.ts";

function read(chunks: readonly Uint8Array[], maxBytes?: number): SseEvent[] {
  const reader = sseReader(maxBytes);
  return chunks.flatMap((chunk) => reader.push(chunk));
}

function whole(text: string): SseEvent[] {
  return read([Buffer.from(text)]);
}

describe("sseReader", () => {
  it("reads event and data lines up to an empty line", () => {
    expect(whole("event: a\ndata: 1\n\ndata: 2\n\n")).toEqual([{ event: "a", data: "1" }, { data: "2" }]);
  });

  it("takes line feeds, carriage returns and both for line ends", () => {
    expect(whole("data: 1\r\rdata: 2\r\n\r\ndata: 3\n\n")).toEqual([{ data: "1" }, { data: "2" }, { data: "3" }]);
  });

  it("joins data lines and keeps all but one leading space", () => {
    expect(whole("data: a\ndata:b\ndata:  c\ndata\n\n")).toEqual([{ data: "a\nb\n c\n" }]);
  });

  it("skips comments, ids, retries, unknown fields and events without data", () => {
    expect(whole(": hello\nid: 1\nretry: 5\nxdata: 1\ndatax: 2\nevent: ping\n\ndata: 1\n\n")).toEqual([{ data: "1" }]);
  });

  it("skips a byte order mark at the start only", () => {
    expect(whole("\uFEFFdata: \uFEFFx\n\n")).toEqual([{ data: "\uFEFFx" }]);
  });

  it("does not deliver an event without its empty line", () => {
    expect(whole("data: 1\n\ndata: 2\n")).toEqual([{ data: "1" }]);
  });

  it("reads an event of many megabytes that comes in small chunks", () => {
    const data = "é".repeat(2_000_000);
    const bytes = Buffer.from(`data: ${data}\n\n`);
    const chunks = Array.from({ length: Math.ceil(bytes.length / 4099) }, (_, index) =>
      bytes.subarray(index * 4099, (index + 1) * 4099),
    );
    expect(read(chunks)).toEqual([{ data }]);
  });

  it("refuses an event over the limit, whether or not its line ends", () => {
    const refusal = expect.objectContaining({ code: "model-protocol" });
    expect(() => read([Buffer.from("data: 12345")], 8)).toThrow(refusal);
    expect(() => read([Buffer.from("data: 1\ndata: 2\ndata: 3\n")], 16)).toThrow(refusal);
    expect(read([Buffer.from("data: 1\n\ndata: 2\n\ndata: 3\n\n")], 16)).toHaveLength(3);
  });

  it("reads the same events however the bytes are split", () => {
    const line = fc.oneof(
      fc.string({ unit: "grapheme" }).map((text) => `data: ${text.replaceAll(/[\r\n]/g, "")}`),
      fc.constantFrom("event: a", "event", ": comment", "id: 1", "data", "", "", "datas: 1"),
    );
    const end = fc.constantFrom("\n", "\r", "\r\n");
    const text = fc.array(fc.tuple(line, end), { maxLength: 30 }).map((lines) => lines.flat().join(""));
    fc.assert(
      fc.property(text, fc.boolean(), fc.array(fc.nat(400), { maxLength: 20 }), (body, mark, cuts) => {
        const bytes = Buffer.from(`${mark ? "\uFEFF" : ""}${body}\n\n`);
        const places = [...new Set([0, ...cuts.filter((cut) => cut < bytes.length), bytes.length])].toSorted(
          (a, b) => a - b,
        );
        const chunks = places.slice(1).map((place, index) => bytes.subarray(places[index], place));
        const single = [...bytes].map((byte) => Uint8Array.of(byte));
        const expected = reference(body);
        expect(read([bytes])).toEqual(expected);
        expect(read(chunks)).toEqual(expected);
        expect(read(single)).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });
});

/** The standard's algorithm, word by word. */
function reference(body: string): SseEvent[] {
  const events: SseEvent[] = [];
  let data = "";
  let event = "";
  for (const line of `${body}\n\n`.split(/\r\n|\r|\n/).slice(0, -1)) {
    if (line === "") {
      if (data !== "") events.push(event === "" ? { data: data.slice(0, -1) } : { event, data: data.slice(0, -1) });
      data = "";
      event = "";
      continue;
    }
    const colon = line.indexOf(":");
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") data += `${value}\n`;
    if (name === "event") event = value;
  }
  return events;
}
