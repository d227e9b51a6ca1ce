/** The program under measure of `sse`: an HTTP door over SQLite with a model that speaks at a steady pace. Its parent gets port and loop delay. */

import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { agent, type Model, openRuntime } from "capstan";
import { httpHandler, nodeListener } from "capstan/http";

const [deltas = 250, perSecond = 50, runs = 200] = process.argv.slice(2).map(Number);
const delay = monitorEventLoopDelay({ resolution: 1 });
const together = Promise.withResolvers<void>();
let begun = 0;
let before = process.cpuUsage();

/** Measured is what streaming costs: it begins when every run has come so far. */
function ready(): Promise<void> {
  begun += 1;
  if (begun === runs) {
    delay.enable();
    before = process.cpuUsage();
    together.resolve();
  }
  return together.promise;
}

/** Every run at its own moment of the interval, as many models would. */
const steady: Model = {
  id: "bench/steady",
  capabilities: {},
  async *stream({ signal }) {
    await ready();
    const start = performance.now() + Math.random() * (1_000 / perSecond);
    yield [{ type: "start", model: "bench/steady" }];
    yield [{ type: "block-start", index: 0, block: { type: "text" } }];
    let text = "";
    for (let at = 0; at < deltas; at++) {
      const wait = start + (at * 1_000) / perSecond - performance.now();
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      signal.throwIfAborted();
      const delta = `word ${at} `;
      text += delta;
      yield [{ type: "block-delta", index: 0, delta }];
    }
    yield [{ type: "block-end", index: 0, part: { type: "text", text } }];
    yield [{ type: "finish", reason: "stop", usage: { inputTokens: 1, outputTokens: deltas } }];
  },
};

const dataFolder = await mkdtemp(join(tmpdir(), "capstan-bench-sse-"));
const runtime = await openRuntime({
  agents: [agent({ name: "speaker", model: steady, instructions: "Speak." })],
  dataFolder,
  work: "all",
});
const listener = nodeListener(httpHandler({ runtime, authorize: () => ({ id: "bench", trusted: true }) }));
const server = createServer((incoming, outgoing) => void listener(incoming, outgoing));
process.on("message", (word) => {
  if (word === "report") process.send?.({ loopP99: delay.percentile(99) / 1e6, cpu: process.cpuUsage(before) });
  if (word === "end") void end();
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));

async function end(): Promise<void> {
  server.closeAllConnections();
  server.close();
  await runtime.close({ graceMs: 0 });
  await rm(dataFolder, { recursive: true, force: true });
  process.disconnect();
}
