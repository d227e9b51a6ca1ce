import { describe, expect, it } from "vitest";
import { Opening } from "./opening.ts";

async function* numbers(left: () => void): AsyncGenerator<number> {
  try {
    yield 1;
    yield 2;
  } finally {
    left();
  }
}

describe("Opening", () => {
  it("opens with the first item that is asked for, once, and gives all of them in order", async () => {
    let opened = 0;
    let left = 0;
    const items = new Opening(async () => (opened++, numbers(() => left++)));
    expect(opened).toBe(0);
    const asked = await Promise.all([items.next(), items.next(), items.next()]);
    expect(asked.map(({ value }) => value)).toEqual([1, 2, undefined]);
    expect([opened, left]).toEqual([1, 1]);
  });

  it("ends what it opened when it is left, and opens nothing after that", async () => {
    let opened = 0;
    let left = 0;
    const source = async (): Promise<AsyncGenerator<number>> => (opened++, numbers(() => left++));
    for await (const item of new Opening(source)) {
      expect(item).toBe(1);
      break;
    }
    const unused = new Opening(source);
    await unused.return();
    expect(await unused.next()).toEqual({ value: undefined, done: true });
    expect([opened, left]).toEqual([1, 1]);
  });

  it("tells whoever asks why it could not be opened", async () => {
    const items = new Opening<number>(() => Promise.reject(new Error("no such session")));
    await expect(items.next()).rejects.toThrow("no such session");
    await items.return();
  });
});
