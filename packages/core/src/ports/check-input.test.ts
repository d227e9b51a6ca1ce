import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "./agent.ts";
import { toParts } from "./check-input.ts";
import type { Part } from "../words/message.ts";
import type { SendOptions } from "../session/session.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { soon } from "../testing/waiting.ts";
import { testRuntime } from "../testing/test-runtime.ts";

const guide = agent({ name: "guide", model: scriptedModel([]), instructions: "x" });
const deep: unknown = Array.from({ length: 20_000 }).reduce((inner) => ({ inner }), 1);
const cyclic: { self?: unknown } = {};
cyclic.self = cyclic;

/** What is refused is nowhere in the session, which then does what it is asked. */
async function refuses(input: unknown, options: unknown, code = "input-invalid") {
  const runtime = await testRuntime({ agents: [guide] });
  const session = await runtime.session<string>({ agent: "guide" });
  await expect(session.send(input as string, options as SendOptions)).rejects.toMatchObject({ code });
  await expect(runtime.send("guide", input as string, options as SendOptions)).rejects.toMatchObject({ code });
  expect(await soon((await session.send("Go")).text())).toBe("Done.");
  expect((await session.messages()).length).toBe(2);
  await runtime.close({ graceMs: 0 });
}

describe("send", () => {
  const CALL = { type: "tool-call", callId: "c", name: "act", input: {}, by: "capstan" };
  const INPUTS: { readonly [what: string]: unknown } = {
    nothing: undefined,
    "a number": 5,
    "no list": {},
    "an empty part": [null],
    "a text for a part": ["x"],
    "a text that is none": [{ type: "text", text: 5 }],
    "an unknown part": [{ type: "video" }],
    "a call": [CALL],
    "the result of a call": [{ type: "tool-result", callId: "c", name: "act", output: { content: [] } }],
    "a thought": [{ type: "reasoning", text: "x" }],
    "what a provider sealed": [{ type: "opaque", seal: { provider: "x", data: 1 } }],
    "a file without bytes": [{ type: "file", mediaType: "image/png" }],
  };
  for (const [what, input] of Object.entries(INPUTS)) it(`LOOP-23 G4 G24 refuses ${what}`, () => refuses(input, {}));

  it("LOOP-23 G4 refuses a file that the store does not have", async () => {
    const data = { type: "blob", hash: "0".repeat(64), size: 1 };
    const runtime = await testRuntime({ agents: [guide] });
    const session = await runtime.session<string>({ agent: "guide" });
    const sent = session.send([{ type: "file", mediaType: "image/png", data } as Part]);
    await expect(sent).rejects.toMatchObject({ code: "blob-missing" });
    expect(await session.messages()).toEqual([]);
    await runtime.close({ graceMs: 0 });
  });

  const OPTIONS: { readonly [what: string]: unknown } = {
    "limits that are no object": { limits: null },
    "a time that is no number": { limits: { wallMs: Number.NaN } },
    "turns without end": { limits: { turns: Infinity } },
    "tokens below nothing": { limits: { tokens: -1 } },
    "money as text": { limits: { microUsd: "5" } },
    "a mode that is no text": { mode: {} },
    "a model that is no name": { model: 5 },
    "tools that are no list": { tools: 5 },
    "plugins that are no names": { plugins: [5] },
    "tags that are no texts": { tags: { ticket: 5n } },
    "settings that turn in a circle": { settings: cyclic },
    "settings without a bottom": { settings: deep },
  };
  for (const [what, options] of Object.entries(OPTIONS))
    it(`LOOP-04 LOOP-23 G24 refuses ${what}`, () => refuses("Go", options));

  it("LOOP-23 keeps what was given, whatever the caller does to it later", async () => {
    const runtime = await testRuntime({ agents: [guide] });
    const session = await runtime.session<string>({ agent: "guide" });
    const said = { type: "text" as const, text: "as it was" };
    const data = { type: "url" as const, url: "https://x" };
    const sending = session.send([said, { type: "file", mediaType: "image/png", data }]);
    said.text = "changed";
    data.url = "changed";
    await soon((await sending).text());
    expect((await session.messages())[0]?.parts).toEqual(
      toParts([
        { type: "text", text: "as it was" },
        { type: "file", mediaType: "image/png", data: { type: "url", url: "https://x" } },
      ]),
    );
    const metadata = { at: { place: "here" } };
    const updating = session.update({ metadata });
    metadata.at.place = "there";
    await soon(updating);
    await soon((await session.send("More")).text());
    expect((await session.state()).metadata).toEqual({ at: { place: "here" } });
    await runtime.close({ graceMs: 0 });
  });
});

describe("an open session", () => {
  it("SESS-01 G24 refuses metadata that cannot be stored, and leaves nothing behind", async () => {
    const runtime = await testRuntime({ agents: [guide] });
    for (const metadata of [{ cyclic }, { deep }, { big: 5n }] as never[])
      await expect(runtime.session({ agent: "guide", metadata })).rejects.toMatchObject({ code: "input-invalid" });
    expect(await runtime.sessions()).toEqual([]);
    const session = await runtime.session({ agent: "guide" });
    await expect(session.update({ metadata: { cyclic } as never })).rejects.toMatchObject({ code: "input-invalid" });
    await runtime.close({ graceMs: 0 });
  });

  it("SESS-10 G4 refuses a history with messages that are none", async () => {
    const runtime = await testRuntime({ agents: [guide] });
    const fine = { id: "a", role: "user", parts: [{ type: "text", text: "x" }] };
    for (const broken of [
      { role: "robot" },
      { id: 5 },
      { parts: 5 },
      { parts: [null] },
      { parts: [{ type: "text" }] },
      { labels: 5 },
    ])
      await expect(
        runtime.session({ agent: "guide", messages: [{ ...fine, ...broken }] as never }),
      ).rejects.toMatchObject({ code: "input-invalid" });
    await runtime.close({ graceMs: 0 });
  });
});

describe("an agent", () => {
  it("LOOP-04 LOOP-07 with limits that are no numbers is refused", () => {
    for (const limits of [{ turns: Number.NaN }, { wallMs: Infinity }, { usd: Number.NaN }, { tokens: -1 }])
      expect(() => agent({ name: "g", model: scriptedModel([]), instructions: "x", limits })).toThrow(/limits\./);
    expect(
      agent({ name: "g", model: scriptedModel([]), instructions: "x", output: z.object({}), limits: { turns: 0 } })
        .limits,
    ).toEqual({ turns: 0 });
  });
});

describe("an idempotency key", () => {
  it("DUR-04 G2 of another agent is a conflict", async () => {
    const other = agent({ name: "other", model: scriptedModel([]), instructions: "x" });
    const runtime = await testRuntime({ agents: [guide, other] });
    const run = await runtime.send("guide", "Go", { idempotencyKey: "k" });
    expect(await soon(run.text())).toBe("Done.");
    expect((await runtime.send("guide", "Go", { idempotencyKey: "k" })).id).toBe(run.id);
    const conflict = { code: "idempotency-conflict" };
    await expect(runtime.send("other", "Go", { idempotencyKey: "k" })).rejects.toMatchObject(conflict);
    await expect(runtime.send("guide", "Stop", { idempotencyKey: "k" })).rejects.toMatchObject(conflict);
    await runtime.close({ graceMs: 0 });
  });
});

describe("names that every object has", () => {
  it("LOOP-01 G24 name agents, sessions and keys like any other", async () => {
    for (const name of ["constructor", "toString", "__proto__"]) {
      const odd = agent({ name, model: scriptedModel([]), instructions: "x" });
      const runtime = await testRuntime({ agents: [odd], models: {} });
      const run = await runtime.send(name, "Go", { key: name, metadata: { [name]: 1 } });
      expect(await soon(run.text())).toBe("Done.");
      await expect(runtime.session({ agent: name, workspace: { kind: name, root: "/" } })).rejects.toMatchObject({
        code: "workspace-missing",
      });
      await runtime.close({ graceMs: 0 });
    }
  });
});
