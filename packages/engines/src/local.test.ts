import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, openRuntime } from "@capstan/core";
import { scriptedModel } from "@capstan/core/testing";
import { afterEach, describe, expect, it } from "vitest";
import { localEngine } from "./local.ts";

const folders: string[] = [];
function path(): string {
  const folder = mkdtempSync(join(tmpdir(), "capstan-local-"));
  folders.push(folder);
  return join(folder, "capstan.db");
}
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

describe("localEngine", () => {
  it("DUR-09 opened twice in a process is one engine: agents are replaced by name, the last close ends it", async () => {
    const file = path();
    const says = (text: string, name = "guide") =>
      agent({ name, model: scriptedModel([{ text }, { text }]), instructions: "x" });
    const first = await openRuntime({ agents: [says("old")], engine: await localEngine({ path: file }) });
    const second = await openRuntime({
      agents: [says("new"), says("other", "helper")],
      engine: await localEngine({ path: file }),
    });
    expect(await (await first.send("guide", "Hi")).text()).toBe("new");
    expect(await (await second.send("helper", "Hi")).text()).toBe("other");
    await second.close();
    expect(await (await first.send("guide", "Hi")).text()).toBe("new");
    await first.close();
    const third = await openRuntime({ agents: [says("again")], engine: await localEngine({ path: file }) });
    expect(await third.sessions()).toHaveLength(3);
    await third.close();
  });

  it("refuses two durabilities for one file", async () => {
    const file = path();
    const engine = await localEngine({ path: file });
    await expect(localEngine({ path: file, durability: "relaxed" })).rejects.toMatchObject({ code: "config-invalid" });
    await engine.close();
  });

  it("SESS-13 SESS-01 finds a session by id and by key after it was closed", async () => {
    const file = path();
    const open = async () =>
      openRuntime({
        agents: [agent({ name: "guide", model: scriptedModel([{ text: "one" }, { text: "two" }]), instructions: "x" })],
        engine: await localEngine({ path: file, durability: "relaxed" }),
      });
    const before = await open();
    const session = await before.session({ agent: "guide", key: "chat-1" });
    await (await session.send("Hi")).text();
    await before.close();
    const after = await open();
    const byKey = await after.session({ agent: "guide", key: "chat-1" });
    expect(byKey.id).toBe(session.id);
    expect(await (await byKey.send("Again")).text()).toBe("two");
    expect((await (await after.session(session.id)).messages()).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
    ]);
    await after.close();
  });
});
