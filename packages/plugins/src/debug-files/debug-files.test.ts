import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { agent, type Agent, CapstanError, type Json, tool } from "@capstan/core";
import { scriptedModel, testRuntime } from "@capstan/core/testing";
import { z } from "zod";
import { call } from "../file-world.ts";
import { debugFiles } from "./index.ts";

let folder = "";
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "capstan-debug-"))));
afterEach(() => rm(folder, { recursive: true, force: true }));

const look = tool({
  name: "look",
  description: "Looks.",
  input: z.object({ q: z.string() }),
  rerun: "safe",
  execute: ({ q }) => `saw ${q}`,
});

function workerOf(maxFiles?: number): Agent {
  return agent({
    name: "worker",
    model: scriptedModel([
      { calls: [call("look", { q: 'quoted"line-one' })] },
      { text: "Done." },
      { text: "Again." },
      { error: new CapstanError("model-auth", "No key") },
    ]),
    instructions: 'Keep quoted"line-one.',
    tools: [look],
    plugins: [debugFiles({ folder, ...(maxFiles !== undefined && { maxFiles }) })],
  });
}

async function filesOf(sessionId: string): Promise<ReadonlyMap<string, Json>> {
  const at = join(folder, sessionId, "debugger");
  const names = (await readdir(at)).toSorted();
  return new Map(
    await Promise.all(
      names.map(async (name) => [name, JSON.parse(await readFile(join(at, name), "utf8")) as Json] as const),
    ),
  );
}

describe("debugFiles", () => {
  it("OBS-01 G23 writes numbered pairs that only the user can read, without secrets in any writing", async () => {
    const worker = workerOf();
    const secret = 'quoted"line-one';
    const runtime = await testRuntime({ agents: [worker], secrets: [secret] });
    const session = await runtime.session({ agent: worker });
    await (await session.send("Go")).result();
    await runtime.close();
    const files = await filesOf(session.id);
    expect([...files.keys()]).toEqual([
      "api_request_1.json",
      "api_request_2.json",
      "api_response_1.json",
      "api_response_2.json",
      "tool_call_1.json",
      "tool_result_1.json",
    ]);
    expect(files.get("api_request_1.json")).toMatchObject({
      messages: [{ role: "user", parts: [{ type: "text", text: "Go" }] }],
      tools: [{ name: "look" }],
    });
    expect(files.get("api_response_2.json")).toMatchObject({
      parts: [{ text: "Done." }],
      cut: false,
      model: "scripted/model",
    });
    expect(files.get("tool_call_1.json")).toMatchObject({ name: "look", input: { q: "[secret]" } });
    expect(files.get("tool_result_1.json")).toMatchObject({
      status: "ok",
      output: { content: [{ text: "saw [secret]" }] },
    });
    expect(JSON.stringify([...files])).not.toContain("line-one");
    const at = join(folder, session.id, "debugger");
    expect((await stat(at)).mode & 0o777).toBe(0o700);
    for (const name of files.keys()) expect((await stat(join(at, name))).mode & 0o777).toBe(0o600);
  });

  it("OBS-01 goes on with the numbers after a restart, tells what failed, and keeps no more files than it may", async () => {
    const worker = workerOf(5);
    const runtime = await testRuntime({ agents: [worker] });
    const session = await runtime.session({ agent: worker });
    for (const input of ["one", "two", "three"]) await (await session.send(input)).result();
    await runtime.close();
    const files = await filesOf(session.id);
    expect(files.size).toBe(5);
    expect(files.get("api_response_4.json")).toMatchObject({ error: "No key", cut: true });
    expect([...files.keys()]).not.toContain("api_request_1.json");
    // another process on the same folder; ids of a test runtime repeat
    const again = await testRuntime({ agents: [workerOf(50)] });
    const same = await again.session({ agent: "worker" });
    expect(same.id).toBe(session.id);
    await (await same.send("Go")).result();
    await again.close();
    expect([...(await filesOf(session.id)).keys()]).toContain("api_request_6.json");
  });

  it("OBS-01 writes neither through a link nor over a file, and a folder that cannot be written stops no run", async () => {
    const worker = workerOf();
    const outside = join(folder, "outside.txt");
    await writeFile(outside, "mine");
    const first = await testRuntime({ agents: [worker] });
    const session = await first.session({ agent: worker });
    await (await session.send("Go")).result();
    await first.close();
    const at = join(folder, session.id, "debugger");
    for (const name of await readdir(at)) await rm(join(at, name));
    await symlink(outside, join(at, "api_request_1.json"));
    await symlink(outside, join(at, "tool_call_1.json"));
    const second = await testRuntime({ agents: [workerOf()] });
    const same = await second.session({ agent: "worker" });
    expect((await (await same.send("Go")).result()).reason).toBe("end-turn");
    await second.close();
    expect(await readFile(outside, "utf8")).toBe("mine");
    await chmod(folder, 0o500);
    const third = await testRuntime({ agents: [workerOf()] });
    expect((await (await third.send("worker", "Go")).result()).reason).toBe("end-turn");
    await third.close();
    await chmod(folder, 0o700);
  });

  it("OBS-01 goes on behind the files that another process wrote meanwhile", async () => {
    const runtime = await testRuntime({ agents: [workerOf()] });
    const session = await runtime.session({ agent: "worker" });
    await (await session.send("Go")).result();
    await (await session.send("Again")).result();
    const at = join(folder, session.id, "debugger");
    await expect.poll(() => readdir(at)).toContain("api_response_3.json");
    for (const name of ["api_request_4.json", "api_response_4.json"]) await writeFile(join(at, name), '"theirs"');
    await (await session.send("And again")).result();
    await runtime.close();
    const files = await filesOf(session.id);
    expect(files.get("api_request_4.json")).toBe("theirs");
    expect(files.get("api_response_5.json")).toMatchObject({ error: "No key" });
  });

  it("refuses options that it cannot keep", () => {
    for (const options of [{ folder: "relative" }, { folder: "/tmp/x", maxFiles: 0 }])
      expect(() => debugFiles(options)).toThrowError(expect.objectContaining({ code: "plugin-invalid" }));
  });
});
