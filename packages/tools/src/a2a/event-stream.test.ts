import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eventData } from "./event-stream.ts";

async function read(pieces: readonly Uint8Array[], maxCharacters = 1_000): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const data of eventData(asStream(pieces), maxCharacters)) found.push(data);
  return found;
}
async function* asStream(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

describe("eventData", () => {
  it("SUB-10 reads the same however the bytes are cut and lines end", async () => {
    const lines = [
      ": hi",
      "event: x",
      'data: {"a":',
      "data:1}",
      "",
      "id: 7",
      "",
      "data: zwölf €",
      "data",
      "",
      "data: cut",
    ];
    const events = ['{"a":\n1}', "zwölf €\n"];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("\n", "\r\n", "\r"),
        fc.array(fc.nat(200), { maxLength: 12 }),
        async (end, cuts) => {
          const bytes = Buffer.from(`${lines.join(end)}${end}`);
          const at = [...new Set([0, ...cuts.map((cut) => cut % bytes.length), bytes.length])].toSorted(
            (a, b) => a - b,
          );
          const pieces = at.slice(1).map((stop, index) => bytes.subarray(at[index], stop));
          expect(await read(pieces)).toEqual(events);
        },
      ),
    );
  });

  it("SUB-10 refuses an event that is too long, whole or not", async () => {
    for (const text of [`data: ${"x".repeat(60)}\n`.repeat(3), `data: ${"x".repeat(200)}`])
      await expect(read([Buffer.from(text)], 100)).rejects.toThrow("too long");
  });
});
