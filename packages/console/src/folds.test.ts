/** What the page makes of facts and live events, without a page. */

import type { Event, Fact, FactBody, Live, LiveBody } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { ServerSentParser } from "../web/api/server-sent.ts";
import { formContent, formFields } from "../web/data/form-fields.ts";
import { lineDiff } from "../web/data/line-diff.ts";
import { LiveBlocks } from "../web/data/live-blocks.ts";
import { causeOf, logRows } from "../web/data/log-row.ts";
import { Transcript } from "../web/data/transcript.ts";
import { parseRoute } from "../web/data/route.ts";
import { isSafeUrl } from "../web/view/safe-url.ts";

const actor = { id: "ann", door: "http" };
const fact = (seq: number, body: FactBody): Fact => ({ ...body, seq, at: seq * 1_000, key: `k${seq}`, runId: "run_1" });
const live = (seq: number, eph: number, body: LiveBody): Live => ({ ...body, seq, eph, at: 0, runId: "run_1" });
const call = { type: "tool-call", callId: "run_1/1/0", name: "pay", input: { euros: 3 }, by: "capstan" } as const;

function facts(): readonly Fact[] {
  const parts = [{ type: "text", text: "Pay." }] as const;
  const output = { content: [{ type: "text", text: "paid" }] } as const;
  const started = { callId: call.callId, name: "pay", title: "Pay 3", kind: "other", input: call.input } as const;
  const kept = {
    attemptId: "a",
    rerun: "never",
    flow: false,
    idempotencyKey: "i",
    toolHash: "h",
    confinement: "none",
  } as const;
  return [
    fact(1, { type: "input.accepted", inputId: "in_1", parts, ifBusy: "queue", actor }),
    fact(2, { type: "run.started", trigger: "input", inputId: "in_1", agentHash: "h", limits: {} }),
    fact(3, { type: "message.added", message: { id: "m1", role: "user", parts }, inputId: "in_1" }),
    fact(4, { type: "turn.started", turn: 1, attempt: 1, model: "m", prefixHash: "p" }),
    fact(5, {
      type: "message.added",
      message: { id: "run_1/turn/1/message", role: "assistant", parts: [call] },
      turn: 1,
    }),
    fact(6, { type: "tool.started", ...started, ...kept }),
    fact(7, { type: "tool.finished", callId: call.callId, name: "pay", status: "ok", output, durationMs: 12 }),
    fact(8, { type: "run.finished", reason: "end-turn", usage: { inputTokens: 5, outputTokens: 2 }, turns: 1 }),
  ];
}

describe("Transcript", () => {
  it("WEB-01 shows what was said, called and answered, in order", () => {
    const transcript = new Transcript();
    for (const one of facts()) transcript.apply(one);
    const items = transcript.buckets().flatMap((bucket) => bucket.items);
    expect(items.map(({ kind }) => kind)).toEqual(["user", "call", "end"]);
    expect(items[1]).toMatchObject({ status: "ok", title: "Pay 3", durationMs: 12, progress: "" });
    expect(items[2]).toMatchObject({ reason: "end-turn", ms: 6_000 });
  });

  it("WEB-01 makes the same of a log that begins later, but for what is not there", () => {
    const transcript = new Transcript();
    for (const one of facts().slice(6)) transcript.apply(one);
    const items = transcript.buckets().flatMap((bucket) => bucket.items);
    expect(items.map(({ kind }) => kind)).toEqual(["call", "end"]);
  });

  it("WEB-01 keeps what did not change the same object, so that it is not drawn again", () => {
    const transcript = new Transcript();
    const say = (seq: number): void =>
      transcript.apply(
        fact(seq, {
          type: "message.added",
          message: { id: `m${seq}`, role: "user", parts: [{ type: "text", text: "x" }] },
        }),
      );
    for (let seq = 1; seq <= 200; seq++) say(seq);
    const before = transcript.buckets();
    say(201);
    const after = transcript.buckets();
    expect(before.length).toBeGreaterThan(3);
    expect(after.slice(0, -1)).toEqual(before.slice(0, -1));
    expect(after.slice(0, -1).every((bucket, index) => bucket === before[index])).toBe(true);
    expect(after.at(-1)).not.toBe(before.at(-1));
  });
});

describe("LiveBlocks", () => {
  const started = live(4, 1, {
    type: "block.started",
    messageId: "run_1/turn/1/message",
    blockId: "b",
    block: { type: "text" },
  });
  const delta = (eph: number, offset: number, text: string): Event =>
    live(4, eph, { type: "text.delta", blockId: "b", offset, delta: text });
  const textIn = (blocks: LiveBlocks): unknown =>
    blocks.items().map((item) => (item.kind === "text" ? item.text : item.kind));

  it("WEB-01 a delta that comes again after a cut adds nothing", () => {
    const blocks = new LiveBlocks();
    for (const event of [
      started,
      delta(2, 0, "Hel"),
      delta(3, 3, "lo"),
      started,
      delta(4, 0, "Hello"),
      delta(5, 5, "!"),
    ])
      blocks.apply(event);
    expect(textIn(blocks)).toEqual(["Hello!"]);
  });

  it("WEB-01 the message takes the place of its blocks, and a new try of what the last one said", () => {
    const blocks = new LiveBlocks();
    blocks.apply(started);
    blocks.apply(delta(2, 0, "Hel"));
    const error = { code: "model-overloaded", message: "x", retryable: true };
    blocks.apply(live(4, 3, { type: "turn.reset", turn: 1, attempt: 1, error, delayMs: 0 }));
    expect(textIn(blocks)).toEqual([]);
    blocks.apply(started);
    blocks.apply(delta(5, 0, "Yes"));
    const message = { id: "run_1/turn/1/message", role: "assistant", parts: [{ type: "text", text: "Yes" }] } as const;
    blocks.apply(fact(5, { type: "message.added", message, turn: 1 }));
    expect(textIn(blocks)).toEqual([]);
  });
});

describe("ServerSentParser", () => {
  it("WEB-01 reads events however they are cut, with CRLF, comments and several lines of data", () => {
    const text = ': alive\r\n\r\nid: 4.1\r\ndata: {"a":1}\r\n\r\nevent: end\ndata: x\ndata: y\n\nid: 9\n\n';
    const whole = new ServerSentParser().push(text);
    const parser = new ServerSentParser();
    const cut = Array.from(text, (one) => parser.push(one)).flat();
    expect(whole).toEqual([
      { id: "4.1", event: "message", data: '{"a":1}' },
      { event: "end", data: "x\ny" },
      { id: "9", event: "message", data: "" },
    ]);
    expect(cut).toEqual(whole);
  });
});

describe("causeOf", () => {
  it("WEB-02 leads from a result to its call, its turn, its run and its input", () => {
    const log = facts();
    const chain: number[] = [];
    for (let at = causeOf(log[6] as Fact, log); at !== undefined; at = causeOf(at, log)) chain.push(at.seq);
    expect(chain).toEqual([6, 5, 4, 2, 1]);
  });

  it("WEB-02 puts live events between the facts where they happened", () => {
    const delta = live(4, 1, { type: "text.delta", blockId: "b", offset: 0, delta: "x" });
    expect(logRows(facts(), [delta]).map(({ cursor }) => cursor)).toEqual([
      "1",
      "2",
      "3",
      "4",
      "4.1",
      "5",
      "6",
      "7",
      "8",
    ]);
  });
});

describe("lineDiff", () => {
  it("WEB-01 gives back both texts, with what is far from a change left out", () => {
    const old = Array.from({ length: 30 }, (_, index) => `line ${index}`);
    const now = old.toSpliced(10, 1, "changed", "added");
    const lines = lineDiff(old.join("\n"), now.join("\n"));
    expect(lines.filter(({ type }) => type === "gone")).toEqual([{ type: "gone", text: "line 10" }]);
    expect(lines.filter(({ type }) => type === "new").map(({ text }) => text)).toEqual(["changed", "added"]);
    expect(lines.map(({ type }) => type).filter((type) => type === "skip")).toHaveLength(2);
    expect(lineDiff("a\nb\nc", "b\nc\nd").map(({ type, text }) => `${type} ${text}`)).toEqual([
      "gone a",
      "same b",
      "same c",
      "new d",
    ]);
    expect(lineDiff("", "x\n")).toEqual([{ type: "new", text: "x" }]);
  });
});

describe("formContent", () => {
  const schema = {
    type: "object",
    properties: {
      name: { type: "string" },
      size: { type: "integer" },
      on: { type: "boolean", default: true },
      list: { type: "array" },
    },
    required: ["name", "size"],
  };

  it("WEB-01 makes of what was typed what the schema asks for, and nothing until it fits", () => {
    const fields = formFields(schema) ?? [];
    expect(fields.map(({ type }) => type)).toEqual(["text", "integer", "boolean", "json"]);
    expect(formContent(fields, { name: "a" })).toBeUndefined();
    expect(formContent(fields, { name: "a", size: "1.5" })).toBeUndefined();
    expect(formContent(fields, { name: "a", size: "2", list: "[1]" })).toEqual({
      name: "a",
      size: 2,
      on: true,
      list: [1],
    });
    expect(formFields({ type: "string" })).toBeUndefined();
  });
});

describe("addresses", () => {
  it("WEB-01 follows no link that runs something or stays in the console", () => {
    for (const url of [
      "javascript:alert(1)",
      " javascript:alert(1)",
      "data:text/html,x",
      "/sessions",
      "vbscript:x",
      "file:///etc/passwd",
      "blob:http://x/1",
    ])
      expect([url, isSafeUrl(url)]).toEqual([url, false]);
    for (const url of ["https://example.com/a", "http://example.com", "mailto:a@example.com"])
      expect(isSafeUrl(url)).toBe(true);
  });

  it("WEB-01 takes any hash for a place", () => {
    expect(parseRoute("#/session/ses_1")).toEqual({ page: "session", sessionId: "ses_1" });
    expect(parseRoute("#/inspect/ses_1/41")).toEqual({ page: "inspect", sessionId: "ses_1", seq: 41 });
    for (const hash of ["", "#/", "#/session/", "#/nowhere/x"]) expect(parseRoute(hash)).toEqual({ page: "home" });
    expect(parseRoute("#/session/%E0%A4%A/x")).toEqual({ page: "session", sessionId: "%E0%A4%A" });
  });
});
