import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { agent, openRuntime } from "@capstan/core";
import { scriptedModel, testRuntime } from "@capstan/core/testing";
import { localEngine } from "@capstan/engines/local";
import { auditLog } from "@capstan/plugins/audit-log";
import { type CommandHome, commandHome, TESTING } from "./command-child.ts";

const HOSTILE = "</title><script>alert(1)</script>\u001b[2J";

/** A session with a sub-agent, in the store of the home. */
async function storedSession({ home }: CommandHome): Promise<string> {
  const helper = agent({ name: "helper", model: scriptedModel([{ text: `Helped. ${HOSTILE}` }]), instructions: "x" });
  const boss = agent({
    name: "boss",
    model: scriptedModel([{ calls: [{ name: "helper", input: { task: "help" } }] }, { text: "Done." }]),
    instructions: "x",
    tools: [helper],
  });
  await mkdir(home, { recursive: true, mode: 0o700 });
  await using runtime = await openRuntime({
    agents: [boss],
    engine: await localEngine({ path: join(home, "capstan.db") }),
  });
  const run = await runtime.send(boss, "Go", { title: HOSTILE });
  await run.result();
  return run.session.id;
}

describe.concurrent("capstan sessions report", { timeout: 60_000 }, () => {
  it("OBS-05 writes a session with its sub-agents as JSON and as inert HTML", async () => {
    await using at = await commandHome();
    const id = await storedSession(at);
    const json = await at.run(["sessions", "report", id, "--output", "json"]);
    expect(json.code).toBe(0);
    const { runs } = JSON.parse(json.stdout) as {
      runs: { children: { kind: string; children: { kind: string }[] }[] }[];
    };
    const task = runs[0]?.children.find(({ kind }) => kind === "task");
    expect(task?.children.map(({ kind }) => kind)).toEqual(["run"]);
    const html = await at.run(["sessions", "report", id]);
    expect(html.stdout).toMatch(/^<!doctype html>\n[^]*<\/html>\n$/);
    expect(html.stdout).toContain("&lt;script&gt;alert(1)&lt;/script&gt;\\u{1b}[2J");
    expect(html.stdout).not.toContain("<script");
    expect(await at.run(["sessions", "report", "ses_none"])).toMatchObject({ code: 2 });
    expect(await at.run(["sessions", "report", id, "--output", "pdf"])).toMatchObject({ code: 2 });
  });

  it("OBS-07 counts the use of tools over all sessions or in one", async () => {
    await using at = await commandHome();
    const id = await storedSession(at);
    await storedSession(at);
    const all = await at.run(["sessions", "usage"]);
    expect(all.stdout).toMatch(/^AGENT +TOOL +CALLS.*\nboss +helper +2 +2 +0 /);
    const one = await at.run(["sessions", "usage", id, "--json"]);
    expect(JSON.parse(one.stdout)).toMatchObject({ agent: "boss", tool: "helper", calls: 1, ends: { ok: 1 } });
  });
});

describe.concurrent("capstan audit verify", { timeout: 60_000 }, () => {
  it("SEC-04 ends with 0 for a whole log, and with 1 for another one, a missing end or another key", async () => {
    await using at = await commandHome();
    const path = join(at.folder, "audit.jsonl");
    const key = "sixteen bytes and more";
    const worker = agent({ name: "worker", model: scriptedModel([{ text: "Hi." }]), instructions: "x" });
    const runtime = await testRuntime({ agents: [worker], plugins: [auditLog({ path, key })] });
    await (await runtime.send(worker, "Go")).result();
    await runtime.close();
    const keyFile = join(at.folder, "key");
    await writeFile(keyFile, `${key}\n`);
    const verify = (...more: readonly string[]) => at.run(["audit", "verify", path, "--key-file", keyFile, ...more]);
    const whole = await verify();
    expect(whole).toMatchObject({ code: 0, stderr: "The log is whole\n" });
    const head = /the last is (\d+:[0-9a-f]{64})/.exec(whole.stdout)?.[1] ?? "";
    expect(await verify("--expect", head)).toMatchObject({ code: 0 });
    expect(await at.run(["audit", "verify", path])).toMatchObject({ code: 1 });
    expect(await verify("--expect", "nonsense")).toMatchObject({ code: 2 });
    const text = await readFile(path, "utf8");
    await writeFile(path, `${text.trimEnd().split("\n").slice(0, -1).join("\n")}\n`);
    expect(await verify("--json")).toMatchObject({ code: 1, stdout: expect.stringContaining('"code":"truncated"') });
    await writeFile(path, text.replace('"worker"', '"wxrker"'));
    expect(await verify()).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("line 1: Record 1 is not what was written"),
    });
    expect(await at.run(["audit", "verify", join(at.folder, "none")])).toMatchObject({ code: 1 });
  });
});

describe.concurrent("capstan eval", { timeout: 60_000 }, () => {
  it("TEST-03 ends with 1 when a threshold is missed, for CI, and with 0 when all are held", async () => {
    await using at = await commandHome();
    const file = join(at.folder, "evaluation.mjs");
    await writeFile(
      file,
      `import { evaluation, exact } from ${JSON.stringify(TESTING)};
       export default evaluation({
         name: "sums",
         dataset: [{ id: "one", input: "2", expected: "2" }, { id: "two", input: "2", expected: "3" }],
         task: ({ input }) => ({ output: input }),
         scorers: [exact()],
         thresholds: { exact: 0.9 },
         close: async () => console.error("closed"),
       });`,
    );
    const missed = await at.run(["eval", file]);
    expect(missed).toMatchObject({ code: 1, stderr: "one\ntwo\nclosed\n" });
    expect(missed.stdout).toContain("sums: FAILED, 2 items");
    expect(await at.run(["eval", file, "--limit", "1"])).toMatchObject({ code: 0 });
    await writeFile(join(at.folder, "data.jsonl"), '{"input":"x","expected":"x"}\n');
    const other = await at.run(["eval", file, "--dataset", "data.jsonl", "--json"]);
    expect(JSON.parse(other.stdout)).toMatchObject({ ok: true, items: [{ id: "1" }] });
    expect(await at.run(["eval", file, "--dataset", "none.jsonl"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("closed"),
    });
    await writeFile(join(at.folder, "empty.mjs"), "export default {};");
    expect(await at.run(["eval", "empty.mjs"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("export default evaluation"),
    });
  });
});
