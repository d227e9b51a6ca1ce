import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { chunksOf } from "./chunk.ts";
import { embedAll } from "./embedder.ts";
import { MEMORY_LIMITS as LIMITS } from "./limits.ts";
import { fused } from "./rank.ts";
import { defineCosine, toBytes, vectorExtension } from "./vectors.ts";

describe("chunksOf", () => {
  it("SKILL-12 cuts at the ends of sentences, with an overlap, and loses nothing", () => {
    const sentences = Array.from({ length: 300 }, (_, index) => `Sentence number ${index} is here.`);
    const chunks = chunksOf(sentences.join(" "));
    expect(chunks.length).toBeGreaterThan(5);
    expect(chunks.every((chunk) => chunk.length <= LIMITS.chunkCharacters && chunk.endsWith("."))).toBe(true);
    for (const sentence of sentences) expect(chunks.some((chunk) => chunk.includes(sentence))).toBe(true);
    expect(chunks[1]?.slice(0, 20)).not.toBe("");
  });

  it("cuts what has no blanks without breaking a character, and ends", () => {
    const chunks = chunksOf("😀".repeat(5_000));
    expect(chunks.every((chunk) => chunk.isWellFormed() && chunk.length <= LIMITS.chunkCharacters + 1)).toBe(true);
    expect(chunks.length).toBeLessThan(12);
    expect(chunksOf(" \n ")).toEqual([]);
    expect(chunksOf("\ud800 half")).toEqual(["\ufffd half"]);
  });
});

describe("embedAll", () => {
  it("SKILL-12 refuses what is not one usable vector a text", async () => {
    const options = { as: "passage", signal: new AbortController().signal } as const;
    const given: readonly unknown[] = [
      undefined,
      [],
      [[1, 2]],
      [[1, 2], [1]],
      [
        [0, 0],
        [1, 0],
      ],
      [
        [Number.NaN, 1],
        [1, 0],
      ],
      [
        ["x", 1],
        [1, 0],
      ],
      [
        [1e300, 1e300],
        [1, 0],
      ],
      [Array.from({ length: LIMITS.dimensions + 1 }, () => 1), [1]],
      ["ab", "cd"],
    ];
    for (const vectors of given) {
      const embedder = { id: "odd", embed: async () => vectors as never };
      await expect(embedAll(embedder, ["a", "b"], options)).rejects.toMatchObject({ code: "model-protocol" });
    }
    const good = { id: "good", embed: async () => [[3, 4], new Float32Array([0, 2])] };
    const made = await embedAll(good, ["a", "b"], options);
    expect(made.map((vector) => [...vector].map((value) => Math.round(value * 10) / 10))).toEqual([
      [0.6, 0.8],
      [0, 1],
    ]);
  });
});

describe("defineCosine", () => {
  it("SKILL-12 gives the same in JavaScript where the extension cannot be loaded", async () => {
    const left = toBytes(new Float32Array([1, 0]));
    const right = toBytes(new Float32Array([0.6, 0.8]));
    const path = await vectorExtension();
    for (const [file, kind] of [
      [path, "sqlite-vec"],
      [undefined, "javascript"],
      ["/nowhere.so", "javascript"],
    ] as const) {
      const db = new DatabaseSync(":memory:", { allowExtension: true });
      expect(defineCosine(db, file)).toBe(kind);
      const cosine = kind === "sqlite-vec" ? "1 - vec_distance_cosine(?, ?)" : "cosine(?, ?)";
      expect(db.prepare(`SELECT ${cosine} AS value`).get(left, right)?.["value"]).toBeCloseTo(0.6, 5);
      expect(() => db.loadExtension(path ?? "")).toThrow();
      db.close();
    }
  });
});

describe("fused", () => {
  it("puts first what several lists have", () => {
    expect(
      fused([
        [1, 2, 3],
        [3, 4],
      ]),
    ).toEqual([3, 1, 2, 4]);
  });
});
