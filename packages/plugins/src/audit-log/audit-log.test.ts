import { execFile, spawn } from "node:child_process";
import { appendFile, mkdtemp, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { agent, type Agent, memoryStore, openRuntime, type Plugin, storeEngine, tool } from "@capstan/core";
import { fakeClock, fixedIds, scriptedModel, testRuntime } from "@capstan/core/testing";
import { z } from "zod";
import { call } from "../file-world.ts";
import { AuditFile } from "./audit-file.ts";
import { auditLog, type AuditLogOptions, type AuditRecord, verifyAuditLog } from "./index.ts";

let folder = "";
let path = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "capstan-audit-"));
  path = join(folder, "audit.jsonl");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const KEY = "a key of more than sixteen bytes";
const pay = tool({
  name: "pay",
  description: "Pays.",
  input: z.object({ to: z.string() }),
  permission: "ask",
  execute: ({ to }) => `paid ${to}`,
});

function clerk(options: Partial<AuditLogOptions> = {}): Agent {
  return agent({
    name: "clerk",
    model: scriptedModel([{ calls: [call("pay", { to: "hush-hush" })] }, { text: "Done." }]),
    instructions: "x",
    tools: [pay],
    plugins: [auditLog({ path, ...options })],
  });
}

/** One approved payment; the id of its session. */
async function payOnce(options: Partial<AuditLogOptions> = {}, secrets: readonly string[] = []): Promise<string> {
  const worker = clerk(options);
  const runtime = await testRuntime({
    agents: [worker],
    permission: { mode: "ask" },
    secrets,
    onRequest: async () => ({ type: "permission", allow: true }),
  });
  const run = await runtime.as({ id: "ann", door: "http" }).send(worker, "Pay");
  await run.result();
  await runtime.close();
  return run.session.id;
}

async function records(): Promise<readonly AuditRecord[]> {
  const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as AuditRecord);
}
const codesOf = async (options = {}): Promise<readonly string[]> =>
  (await verifyAuditLog(path, options)).problems.map(({ code }) => code);
const entry = (session: string, seq: number) => ({ at: 1, session, seq, agent: "a", type: "test", data: { seq } });
const fileAt = (): AuditFile => new AuditFile(path, undefined, fakeClock(), new AbortController().signal);

describe("auditLog", () => {
  it("SEC-04 tells who asked, who consented and what ran, as hashes, in a private file that verifies", async () => {
    const session = await payOnce();
    const all = await records();
    expect(all.map(({ n, seq }) => [n, seq > 0])).toEqual(all.map((_record, index) => [index + 1, true]));
    const of = (type: string): AuditRecord | undefined => all.find((record) => record.type === type);
    expect(of("input.accepted")).toMatchObject({
      session,
      agent: "clerk",
      data: { actor: { id: "ann", door: "http" } },
    });
    const asked = of("request.opened")?.data as { readonly requestId: string };
    expect(of("request.resolved")?.data).toMatchObject({ requestId: asked.requestId, allow: true });
    expect(of("tool.started")?.data).toMatchObject({ name: "pay", requestId: asked.requestId, confinement: "none" });
    expect(of("tool.finished")?.data).toMatchObject({ name: "pay", status: "ok" });
    expect(of("run.finished")?.data).toMatchObject({ reason: "end-turn" });
    expect(JSON.stringify(all)).not.toContain("hush-hush");
    expect(await verifyAuditLog(path)).toMatchObject({ ok: true, records: all.length, sessions: 1, problems: [] });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(`${path}.head`)).mode & 0o777).toBe(0o600);
  });

  it("SEC-04 G23 keeps bodies when told to, without secrets", async () => {
    await payOnce({ content: true }, ["hush-hush"]);
    const started = (await records()).find(({ type }) => type === "tool.started");
    expect(started?.data).toMatchObject({ input: { to: "[secret]" } });
  });

  it("SEC-04 finds every edit, removal, repetition, reordering and truncation", async () => {
    await payOnce();
    const whole = await readFile(path, "utf8");
    const lines = whole.trimEnd().split("\n");
    const { head } = await verifyAuditLog(path);
    const with_ = (changed: readonly string[]): string => `${changed.join("\n")}\n`;
    for (let at = 0; at < lines.length; at++) {
      const line = lines[at] ?? "";
      await writeFile(path, with_(lines.with(at, line.replace('"at":', '"at":1'))));
      expect(await codesOf(), `edit of line ${at + 1}`).toContain("hash-mismatch");
      await writeFile(path, with_(lines.toSpliced(at, 1)));
      expect(await codesOf(), `removal of line ${at + 1}`).toContain(
        at === lines.length - 1 ? "truncated" : "chain-broken",
      );
      await writeFile(path, with_(lines.toSpliced(at, 0, line)));
      expect(await codesOf(), `repetition of line ${at + 1}`).toContain("chain-broken");
    }
    await writeFile(path, with_(lines.toReversed()));
    expect(await codesOf()).toContain("chain-broken");
    await writeFile(path, whole.slice(0, -10));
    expect(await codesOf()).toEqual(["unfinished", "truncated"]);
    await writeFile(path, "");
    expect(await codesOf()).toEqual(["truncated"]);
    await writeFile(path, with_(lines.slice(0, -3)));
    await rm(`${path}.head`);
    expect(await codesOf()).toEqual(["head-missing"]);
    expect(await codesOf({ expect: head })).toEqual(["expected-missing", "head-missing"]);
  });

  it("SEC-04 a truncated log that is written on stays broken", async () => {
    await payOnce();
    const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
    await writeFile(path, `${lines.slice(0, -2).join("\n")}\n`);
    const file = fileAt();
    await file.append([entry("other", 1)]);
    file.close();
    expect(await codesOf()).toContain("chain-broken");
    expect((await records()).at(-1)?.n).toBe(lines.length + 1);
  });

  it("SEC-04 under a key nobody else can write a line or a head that holds", async () => {
    await payOnce({ key: KEY });
    expect((await verifyAuditLog(path, { key: KEY })).ok).toBe(true);
    expect(new Set(await codesOf())).toEqual(new Set(["hash-mismatch", "head-mismatch"]));
    // a forger without the key appends, which moves the head too
    const file = fileAt();
    await file.append([entry("forged", 1)]);
    file.close();
    expect(await codesOf({ key: KEY })).toEqual(["hash-mismatch", "head-mismatch"]);
    expect(() => auditLog({ path, key: "short" })).toThrowError(expect.objectContaining({ code: "plugin-invalid" }));
    expect(() => auditLog({ path: "audit.jsonl" })).toThrowError(expect.objectContaining({ code: "plugin-invalid" }));
  });

  it("SEC-04 goes on after a crash in mid-write: whole lines are taken over, half a line is closed and named", async () => {
    const file = fileAt();
    await file.append([entry("one", 1), entry("one", 2)]);
    file.close();
    const before = await readFile(path, "utf8");
    const { size } = await stat(path);
    // written and not committed: the head still says two
    const ahead = new AuditFile(join(folder, "copy"), undefined, fakeClock(), new AbortController().signal);
    await ahead.append([entry("one", 1), entry("one", 2), entry("one", 3), entry("one", 4)]);
    ahead.close();
    const rest = (await readFile(join(folder, "copy"), "utf8")).slice(before.length);
    for (const cut of [rest.length, rest.length - 1, rest.length - 30, 40]) {
      await truncate(path, size);
      await rm(`${path}.head`);
      const again = fileAt();
      await truncate(path, 0);
      await again.append([entry("one", 1), entry("one", 2)]);
      await appendFile(path, rest.slice(0, cut));
      await again.append([entry("one", 3), entry("one", 4), entry("one", 5)]);
      again.close();
      expect(await verifyAuditLog(path), `cut at ${cut}`).toMatchObject({ ok: true, problems: [] });
      expect((await readFile(path, "utf8")).split("\n").filter((line) => line.includes('"seq":5')).length).toBe(1);
    }
    await appendFile(path, "half a li");
    expect(await codesOf()).toEqual(["unfinished"]);
  });

  it("SEC-04 adds what a process that was not logging had done, once", async () => {
    const store = memoryStore();
    const [clock, ids] = [fakeClock(), fixedIds()];
    const open = (plugins: readonly Plugin[]) => {
      const model = scriptedModel([{ text: "One." }, { text: "Two." }, { text: "Three." }]);
      const worker: Agent<unknown> = agent({ name: "worker", model, instructions: "x" });
      const engine = storeEngine({ ...store, close: async () => undefined }, { clock, ids });
      return openRuntime({ agents: [worker], engine, plugins, host: { clock, ids } });
    };
    let sessionId: string | undefined;
    for (const plugins of [[], [auditLog({ path })], [], [auditLog({ path })]]) {
      await using runtime = await open(plugins);
      const session = await runtime.session(sessionId ?? { agent: "worker" });
      sessionId = session.id;
      await (await session.send("Go on")).result();
    }
    const seqs = (await records()).map(({ seq }) => seq);
    const log = await store.read(sessionId ?? "", { after: 0, limit: 1_000 });
    const audited = log.filter(({ type }) => type !== "turn.started" && type !== "data" && type !== "step.finished");
    expect(seqs).toEqual(audited.filter(({ type }) => type !== "run.resumed").map(({ seq }) => seq));
    expect((await verifyAuditLog(path)).ok).toBe(true);
  });

  it("SEC-04 sessions and processes share one file without losing or mixing a line", async () => {
    await Promise.all(
      [payOnce(), payOnce()].map((paying) => paying.catch((error: unknown) => Promise.reject(error as Error))),
    );
    const before = (await records()).length;
    const script = `
      import { AuditFile } from ${JSON.stringify(join(import.meta.dirname, "audit-file.ts"))};
      import { systemClock } from "@capstan/core";
      const file = new AuditFile(process.argv[1], undefined, systemClock, new AbortController().signal);
      for (let seq = 1; seq <= 40; seq++)
        await file.append([{ at: 1, session: process.argv[2], seq, agent: "a", type: "test", data: { seq } }]);
      file.close();
    `;
    const args = (name: string) => ["--conditions=capstan-source", "--input-type=module", "-e", script, path, name];
    const run = promisify(execFile);
    const cwd = import.meta.dirname;
    await Promise.all(["p1", "p2", "p3"].map((name) => run(process.execPath, args(name), { cwd })));
    expect((await records()).length).toBe(before + 120);
    const report = await verifyAuditLog(path);
    expect(report.problems).toEqual([]);

    // killed at some moment: what is there holds, and others go on
    const killed = spawn(process.execPath, args("p4"), { cwd, stdio: "ignore" });
    const ended = new Promise((resolve) => killed.once("exit", resolve));
    for (;;) {
      if ((await records().catch(() => [])).length > before + 125) break;
      if (killed.exitCode !== null) break;
    }
    killed.kill("SIGKILL");
    await ended;
    const file = fileAt();
    await file.append([entry("after", 1)]);
    file.close();
    expect((await verifyAuditLog(path)).problems).toEqual([]);
  }, 60_000);

  it("SEC-04 a log that cannot be written stops no run, and says so", async () => {
    path = join(folder, "file", "audit.jsonl");
    await writeFile(join(folder, "file"), "in the way");
    const worker = clerk();
    const runtime = await testRuntime({ agents: [worker] });
    const run = await runtime.send(worker, "Pay");
    const seen: string[] = [];
    for await (const { event } of run.events()) if (event.type === "notice") seen.push(event.title);
    await runtime.close();
    expect((await run.result()).reason).toBe("end-turn");
    expect(seen).toContain("Hook on of plugin audit-log failed");
  });
});
