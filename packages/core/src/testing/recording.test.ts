import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent, type Agent } from "../ports/agent.ts";
import { CapstanError } from "../words/errors.ts";
import { tool } from "../ports/tool.ts";
import { driftText } from "./drift.ts";
import { recordRuns } from "./record-runs.ts";
import { parseRecording, readRecording, type Recording, writeRecording } from "./recording.ts";
import { type ReplayOptions, type ReplayReport, replayRun } from "./replay-run.ts";
import { scriptedModel, type ScriptedReply } from "./scripted-model.ts";
import { testRuntime } from "./test-runtime.ts";

type Today = {
  readonly instructions?: string;
  readonly fare?: string;
  readonly ran?: string[];
  readonly description?: string;
};

/** A desk that looks up fares, asks before it books, and has an assistant. Tools say when they really run. */
function desk({
  instructions = "Book.",
  fare = "120 EUR",
  ran = [],
  description = "Looks up fares.",
}: Today = {}): Agent {
  const input = z.object({ to: z.string() });
  const fares = tool({
    name: "fares",
    description,
    input,
    rerun: "safe",
    execute: ({ to }) => {
      ran.push(`fares ${to}`);
      return fare;
    },
  });
  const book = tool({
    name: "book",
    description: "Books.",
    input,
    permission: "ask",
    execute: ({ to }) => {
      ran.push(`book ${to}`);
      return "booked";
    },
  });
  const turns: readonly ScriptedReply[] = [
    (_request, attempt) =>
      attempt === 1
        ? { error: new CapstanError("model-overloaded", "Busy", { retryable: true }) }
        : {
            text: "Looking.",
            calls: [
              { name: "fares", input: { to: "Oslo" } },
              { name: "scout", input: { task: "Weather in Oslo?" } },
              { name: "scout", input: { task: "News of Oslo?" } },
            ],
          },
    { calls: [{ name: "book", input: { to: "Oslo" } }] },
    { text: "Booked for 120 EUR." },
  ];
  const scout = agent({
    name: "scout",
    model: scriptedModel([
      (request) => ({ text: JSON.stringify(request.messages[0]).includes("Weather") ? "Rain." : "None." }),
    ]),
    instructions: "Find out.",
  });
  return agent({ name: "desk", model: scriptedModel(turns), instructions, tools: [fares, book, scout] });
}

async function record(): Promise<{ readonly recording: Recording; readonly ran: readonly string[] }> {
  const ran: string[] = [];
  const recorder = recordRuns();
  const runtime = await testRuntime({
    agents: [desk({ ran })],
    plugins: [recorder.plugin],
    permission: { mode: "ask" },
    secrets: ["hush-hush-1"],
    onRequest: async () => ({ type: "permission", allow: true }),
  });
  const run = await runtime.send("desk", "To Oslo, my word is hush-hush-1.");
  const moving = (async () => {
    for await (const { event } of run.events()) if (event.type === "turn.reset") await runtime.clock.advance(60_000);
  })();
  const recording = await recorder.recording(run);
  await moving;
  await runtime.close();
  return { recording, ran };
}
const replay = (recording: Recording, today: Today = {}, options: Partial<ReplayOptions> = {}): Promise<ReplayReport> =>
  replayRun(recording, { agents: [desk(today)], ...options });

describe("recordRuns and replayRun", () => {
  it("TEST-02 plays a whole run again from a file, sub-agents and answers included, without calling a tool or a model", async () => {
    const { recording, ran } = await record();
    expect(ran).toEqual(["fares Oslo", "book Oslo"]);
    expect(
      recording.sessions.map(({ agent: name, exchanges, calls }) => [name, exchanges.length, calls.length]),
    ).toEqual([
      ["desk", 3, 4],
      ["scout", 1, 0],
      ["scout", 1, 0],
    ]);
    const folder = await mkdtemp(join(tmpdir(), "capstan-recording-"));
    const file = join(folder, "run.json");
    await writeRecording(file, recording);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const read = await readRecording(file);
    await rm(folder, { recursive: true });
    expect(read).toEqual(recording);
    const today: string[] = [];
    for (let times = 0; times < 2; times++) {
      const report = await replay(read, { ran: today });
      expect(report).toMatchObject({ ok: true, drift: [], requests: 5, calls: 4 });
      expect(report.result.text).toBe("Booked for 120 EUR.");
    }
    expect(today).toEqual([]);
  });

  it("TEST-02 G23 holds no registered secret", async () => {
    expect(JSON.stringify((await record()).recording)).not.toContain("hush-hush");
  });

  it("TEST-02 tells which request differs, and where", async () => {
    const { recording } = await record();
    const { ok, drift } = await replay(recording, {
      instructions: "Book cheaply.",
      description: "Looks up all fares.",
    });
    expect(ok).toBe(false);
    expect(drift[0]).toMatchObject({
      where: "request",
      agent: "desk",
      number: 1,
      path: "system",
      now: expect.stringContaining("Book cheaply."),
    });
    expect(drift.every(({ where }) => where === "request")).toBe(true);
    expect(driftText(drift).split("\n")[0]).toMatch(/^request 1 of desk at system: recorded "Book\./);
    const tools = await replay(recording, { description: "Looks up all fares." });
    expect(tools.drift[0]).toMatchObject({ path: "tools[0].description", now: "Looks up all fares." });
    const normalize = (text: string): string => text.replaceAll("all fares", "fares");
    expect(await replay(recording, { description: "Looks up all fares." }, { normalize })).toMatchObject({ ok: true });
  });

  it("TEST-02 runs the tools that are to be live, and tells what they return otherwise", async () => {
    const { recording } = await record();
    const ran: string[] = [];
    expect(await replay(recording, { ran }, { live: ["fares"] })).toMatchObject({ ok: true });
    expect(ran).toEqual(["fares Oslo"]);
    const { drift } = await replay(recording, { fare: "140 EUR" }, { live: ["fares"] });
    expect(drift.map(({ where, number, path, now }) => [where, number, path, now])).toEqual([
      ["result", 1, "content[0].text", "140 EUR"],
      ["request", 2, "messages[2].parts[0].output.content[0].text", "140 EUR"],
      ["request", 3, "messages[2].parts[0].output.content[0].text", "140 EUR"],
    ]);
  });

  it("TEST-02 tells calls, requests and ends that are missing or new", async () => {
    const { recording } = await record();
    const [root, ...others] = recording.sessions;
    if (root === undefined) throw new Error("a recording has a session");
    const shorter = { ...recording, sessions: [{ ...root, exchanges: root.exchanges.slice(0, 2) }, ...others] };
    const cut = await replay(shorter);
    expect(cut.drift.map(({ where, number, recorded }) => [where, number, recorded])).toEqual([
      ["request", 3, "(nothing)"],
      ["end", 1, "Booked for 120 EUR."],
    ]);
    const without = {
      ...recording,
      sessions: [{ ...root, calls: root.calls.filter(({ name }) => name !== "book") }, ...others],
    };
    expect((await replay(without)).drift[0]).toMatchObject({ where: "call", path: "book", recorded: "(nothing)" });
    const changed = root.calls.map((call) => (call.name === "book" ? { ...call, input: { to: "Rome" } } : call));
    const other = await replay({ ...recording, sessions: [{ ...root, calls: changed }, ...others] });
    expect(other.drift[0]).toMatchObject({ where: "call", number: 4, path: "input.to", recorded: "Rome", now: "Oslo" });
    const alone = await replay({ ...recording, sessions: [root] });
    expect(alone.drift.filter(({ where }) => where === "session")).toHaveLength(2);
  });

  it("TEST-02 refuses what is no recording, with a code", async () => {
    const { recording } = await record();
    const wrong: readonly unknown[] = [
      null,
      [],
      {},
      { ...recording, version: 2 },
      { ...recording, sessions: [{}] },
      { ...recording, end: 1 },
    ];
    for (const value of wrong)
      expect(() => parseRecording(value)).toThrowError(expect.objectContaining({ code: "input-invalid" }));
    await expect(replayRun(recording, { agents: [] })).rejects.toMatchObject({ code: "agent-unknown" });
    const folder = await mkdtemp(join(tmpdir(), "capstan-recording-"));
    await writeFile(join(folder, "x.json"), "{");
    await expect(readRecording(join(folder, "x.json"))).rejects.toMatchObject({ code: "input-invalid" });
    await expect(readRecording(join(folder, "y.json"))).rejects.toMatchObject({ code: "path-not-found" });
    await rm(folder, { recursive: true });
  });
});
