import { agent, CapstanError, type Fact, isLive } from "@capstan/core";
import { crashSweep, expectCacheStable, scriptedModel, testRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import type { DefinitionFolder } from "../definition-folder.ts";
import { call, fileWorld } from "../file-world.ts";
import { temporaryFolder } from "../temporary-definitions.ts";
import { rules, type RulesFolder } from "./index.ts";

async function world(folders: readonly RulesFolder[]) {
  const files = fileWorld({ "a.ts": "one\n" });
  const turns = [{ calls: [call("read_file", { path: "a.ts" })] }, { text: "a" }, { text: "b" }, { text: "c" }];
  const model = scriptedModel(turns);
  const worker = agent({ name: "worker", model, instructions: "Work.", tools: files.tools, plugins: [rules(folders)] });
  const runtime = await testRuntime({ agents: [worker], workspaces: files.workspaces });
  const session = await runtime.session({ agent: worker, workspace: "/work" });
  const notices: string[] = [];
  const reading = (async () => {
    for await (const { event } of session.events())
      if (isLive(event) && event.type === "notice") notices.push(`${event.title} ${event.detail ?? ""}`);
  })();
  return {
    model,
    notices,
    log: (): Promise<readonly Fact[]> => runtime.store.read(session.id, { after: 0, limit: 10_000 }),
    send: async (text: string) => (await session.send(text)).result(),
    async [Symbol.asyncDispose]() {
      await runtime.close();
      await reading.catch(() => undefined);
    },
  };
}

describe("rules", () => {
  it("SKILL-09 merges the files of each folder by their names into the system text, which stays byte for byte", async () => {
    using user = temporaryFolder({
      "b.md": "Be kind.",
      "a.md": "---\npaths: src/**\n---\nBe brief.",
      "empty.md": " \n",
      "c.txt": "no",
    });
    using project = temporaryFolder({ "deep/x.md": "Test it." });
    await using it = await world([
      { of: "the user", folder: user.path },
      { of: "this folder", folder: project.path },
    ]);
    await it.send("Go");
    await it.send("Again");
    expect(it.model.requests[0]?.system).toBe(
      "Work.\n\nRules of the user (a.md, for work on src/**):\n\nBe brief.\n\nRules of the user (b.md):\n\nBe kind.\n\nRules of this folder (deep/x.md):\n\nTest it.",
    );
    expectCacheStable(it.model.requests);
  });

  it("SKILL-09 EDGE-07 reads them anew at the next run, not within one, and says that the prefix changed", async () => {
    using folder = temporaryFolder({ "a.md": "First." });
    let reads = 0;
    const counting: DefinitionFolder = {
      path: folder.path,
      list: async () => ["a.md"],
      read: async () => new TextEncoder().encode(reads++ === 0 ? "First." : "Second."),
    };
    await using it = await world([{ of: "us", folder: counting }]);
    await it.send("Go");
    await it.send("Again");
    expect(it.model.requests.map(({ system }) => system.split("\n").at(-1))).toEqual(["First.", "First.", "Second."]);
    expect((await it.log()).flatMap((fact) => (fact.type === "prefix.set" ? [fact.cause] : []))).toEqual([
      "session started",
      "rules: a.md",
      "rules: a.md",
    ]);
    expect(it.notices.filter((line) => line.includes("prefix is rebuilt: rules: a.md"))).toHaveLength(2);
  });

  it("SKILL-09 takes rules back that are gone, and keeps those that may not be read any more", async () => {
    let state: "there" | "denied" | "gone" = "there";
    const folder: DefinitionFolder = {
      path: "/rules",
      async list() {
        if (state === "denied") throw new CapstanError("permission-denied", "changed since it was trusted");
        return state === "there" ? ["a.md"] : [];
      },
      read: async () => new TextEncoder().encode("Always."),
    };
    await using it = await world([{ of: "us", folder }]);
    await it.send("Go");
    state = "denied";
    await it.send("Again");
    state = "gone";
    await it.send("Last");
    expect(it.model.requests.map(({ system }) => system.includes("Always."))).toEqual([true, true, true, false]);
    expect(it.notices).toContain("The rules stay as they were changed since it was trusted");
  });

  it("SKILL-09 leaves out what is too much", async () => {
    using folder = temporaryFolder({
      "a.md": "x".repeat(20_000),
      "b.md": "y".repeat(20_000),
      "c.md": "z".repeat(40_000),
      "d.md": "Kept.",
    });
    await using it = await world([{ of: "us", folder: folder.path }]);
    await it.send("Go");
    const system = it.model.requests[0]?.system ?? "";
    expect([system.includes("xxx"), system.includes("yyy"), system.includes("zzz"), system.includes("Kept.")]).toEqual([
      true,
      false,
      false,
      true,
    ]);
    expect(it.notices.join()).toContain("Some rules are left out b.md, c.md");
  });

  it("SKILL-09 EDGE-01 survives a crash at every write", async () => {
    using folder = temporaryFolder({ "a.md": "Be kind." });
    const worker = agent({
      name: "worker",
      model: scriptedModel([{ text: "a" }, { text: "b" }]),
      instructions: "Work.",
      plugins: [rules([{ of: "us", folder: folder.path }])],
    });
    const report = await crashSweep({
      agents: [worker],
      async journey(runtime) {
        const session = await runtime.session({ agent: "worker", key: "k" });
        await (await session.send("Hi", { idempotencyKey: "1" })).result();
        await (await session.send("Again", { idempotencyKey: "2" })).result();
      },
    });
    expect(report.crashes).toBeGreaterThan(16);
  });
});
