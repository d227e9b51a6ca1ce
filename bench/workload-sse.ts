/** Many readers of many streaming runs over HTTP: how late an event is, how busy the server's loop, and whether one is missing. */

import { fork } from "node:child_process";
import { once } from "node:events";
import { Agent as Connections, request } from "node:http";
import type { Case, Measure, Row } from "./measure.ts";

const STREAMS = 200;
const DELTAS = 250;
const PER_SECOND = 50;
const SOURCE = ["--conditions=capstan-source", "--no-warnings"];

type Report = { readonly loopP99: number; readonly cpu: { readonly user: number; readonly system: number } };
type Reader = { readonly late: number[]; said: number; first?: number; last: number };

/** `stalled`: readers beside them that open a stream and read nothing. */
function sseCase(stalled: number): Case {
  return async () => {
    const server = fork(
      new URL("./sse-server.ts", import.meta.url),
      [DELTAS, PER_SECOND, STREAMS + stalled].map(String),
      { execArgv: SOURCE },
    );
    try {
      const [port] = (await once(server, "message")) as [number]; // its first message
      const readers = Array.from({ length: STREAMS }, (): Reader => ({ late: [], said: 0, last: 0 }));
      const idle = Array.from({ length: stalled }, () => stall(port));
      await Promise.all(readers.map((reader) => follow(port, reader)));
      server.send("report");
      const [report] = (await once(server, "message")) as [Report];
      for (const close of idle) close();
      return numbersOf(readers, report);
    } finally {
      server.send("end");
      await once(server, "exit");
    }
  };
}

function numbersOf(readers: readonly Reader[], { loopP99, cpu }: Report): { [name: string]: number } {
  const first = Math.min(...readers.map((reader) => reader.first ?? Number.NaN));
  const late = readers.flatMap((reader) => reader.late).toSorted((a, b) => a - b);
  const at = (share: number): number => late[Math.min(late.length - 1, Math.floor(late.length * share))] ?? Number.NaN;
  return {
    p50: at(0.5),
    p99: at(0.99),
    perSecond: (late.length * 1_000) / (Math.max(...readers.map(({ last }) => last)) - first),
    loopP99,
    cpuPerEvent: (cpu.user + cpu.system) / late.length,
    missing: readers.filter(({ said }) => said !== whole()).length,
  };
}

/** Length of all that a run says. */
function whole(): number {
  return Array.from({ length: DELTAS }, (_none, at) => `word ${at} `.length).reduce((sum, length) => sum + length, 0);
}

const connections = new Connections({ keepAlive: false, maxSockets: Infinity });

function send(port: number): ReturnType<typeof request> {
  const headers = { "content-type": "application/json", accept: "text/event-stream" };
  const asking = request({ port, host: "127.0.0.1", method: "POST", path: "/send", headers, agent: connections });
  asking.end(JSON.stringify({ agent: "speaker", input: "Speak" }));
  return asking;
}

function stall(port: number): () => void {
  const asking = send(port);
  asking.on("response", (response) => void response.pause());
  asking.on("error", () => undefined); // it is cut off
  return () => void asking.destroy();
}

async function follow(port: number, reader: Reader): Promise<void> {
  const [response] = (await once(send(port), "response")) as [AsyncIterable<Buffer>];
  let text = "";
  for await (const piece of response) {
    const now = Date.now();
    text += piece.toString("utf8");
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = block.slice(block.indexOf("data: ") + 6);
      if (!data.includes('"text.delta"')) continue;
      const { event } = JSON.parse(data) as { event: { offset: number; delta: string; at: number } }; // the door's own
      if (event.offset !== reader.said) continue; // read again from its beginning, or a gap: then it ends short
      reader.said += event.delta.length;
      reader.late.push(now - event.at);
      reader.first ??= now;
      reader.last = now;
    }
  }
}

export const sse: Measure = {
  name: "sse",
  cases: { plain: sseCase(0), stalled: sseCase(5) },
  rows(results) {
    const row = (measure: string, name: string, number: string, target?: number, valueUnit = "ms"): Row => {
      const { median: value } = results(name, number);
      return { measure, unit: "", value, valueUnit, ...(target !== undefined && { target }) };
    };
    const missing = results("plain", "missing").max + results("stalled", "missing").max;
    const note = missing === 0 ? "no text is missing" : `${missing} streams are short`;
    return [
      { ...row("200 SSE streams x 50 events/s, p99 delivery", "plain", "p99", 100), note },
      row("  p50 delivery", "plain", "p50"),
      row("  p99 delay of the server's loop", "plain", "loopP99", 50),
      row("  delivered a second", "plain", "perSecond", undefined, ""),
      row("  CPU of the server per event", "plain", "cpuPerEvent", undefined, "us"),
      row("  p99 delivery beside 5 stalled readers", "stalled", "p99", 100),
    ];
  },
};
