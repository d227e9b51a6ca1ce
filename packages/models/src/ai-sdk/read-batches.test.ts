import { describe, expect, it } from "vitest";
import { readBatches } from "./read-batches.ts";

const running = new AbortController().signal;

async function batchesOf(
  stream: ReadableStream<unknown>,
  signal: AbortSignal = running,
): Promise<(readonly unknown[])[]> {
  const batches: (readonly unknown[])[] = [];
  for await (const batch of readBatches(stream, signal)) batches.push(batch);
  return batches;
}

/** Gives numbers for ever; `asked` is how many were asked for. */
function endless(): { readonly stream: ReadableStream<unknown>; readonly asked: number; readonly cancelled: boolean } {
  let asked = 0;
  let cancelled = false;
  const stream = new ReadableStream<unknown>({
    pull: (controller) => controller.enqueue(asked++),
    cancel: () => void (cancelled = true),
  });
  return {
    stream,
    get asked() {
      return asked;
    },
    get cancelled() {
      return cancelled;
    },
  };
}

describe("readBatches", () => {
  it("gives what comes apart apart, and every part once", async () => {
    let release: () => void = () => {};
    const parts = new ReadableStream<unknown>({
      async start(controller) {
        controller.enqueue(1);
        controller.enqueue(2);
        await new Promise<void>((resolve) => (release = resolve));
        controller.enqueue(3);
        controller.close();
      },
    });
    const batches: (readonly unknown[])[] = [];
    for await (const batch of readBatches(parts, running)) {
      batches.push(batch);
      release();
    }
    expect(batches).toEqual([[1, 2], [3]]);
  });

  it("bounds a batch, and does not run ahead of a reader who rests", async () => {
    const source = endless();
    const sizes: number[] = [];
    for await (const batch of readBatches(source.stream, running)) {
      sizes.push(batch.length);
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      if (sizes.length === 3) break;
    }
    expect(sizes).toEqual([256, 256, 256]);
    expect(source.asked).toBeLessThan(256 * 4 + 10);
    expect(source.cancelled).toBe(true);
  });

  it("gives what came before a failure, then throws it", async () => {
    const failing = new ReadableStream<unknown>({
      pull(controller) {
        controller.enqueue(1);
        controller.error(new Error("broken"));
      },
    });
    await expect(batchesOf(failing)).rejects.toThrow("broken");
    let given = false;
    const late = new ReadableStream<unknown>(
      {
        pull(controller) {
          if (given) return controller.error(new Error("broken later"));
          given = true;
          return controller.enqueue(1);
        },
      },
      { highWaterMark: 0 },
    );
    const seen: unknown[] = [];
    const read = async (): Promise<void> => {
      for await (const batch of readBatches(late, running)) seen.push(...batch);
    };
    await expect(read()).rejects.toThrow("broken later");
    expect(seen).toEqual([1]);
  });

  it("throws the reason of its signal while nothing comes, and gives an empty stream as nothing", async () => {
    const controller = new AbortController();
    const waiting = batchesOf(new ReadableStream<unknown>(), controller.signal);
    controller.abort(new Error("stopped"));
    await expect(waiting).rejects.toThrow("stopped");
    expect(await batchesOf(new ReadableStream<unknown>({ start: (control) => control.close() }))).toEqual([]);
  });
});
