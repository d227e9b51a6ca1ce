import { agent, type Fact, type Json, redactor, sha256, type Workspace } from "@capstan/core";
import { scriptedModel, type ScriptedReply, testRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { call, type FileWorld, fileWorld } from "../file-world.ts";
import { CALL_FILES, checkpointOf, SESSION_BYTES } from "./checkpoint-facts.ts";
import { keepFiles, realNames } from "./look-at-files.ts";
import { checkpoints } from "./index.ts";

const write = (path: string, content: string): ScriptedReply => ({ calls: [call("write_file", { path, content })] });
const read = (path: string): ScriptedReply => ({ calls: [call("read_file", { path })] });

async function played(world: FileWorld, turns: readonly ScriptedReply[], secrets: readonly string[] = []) {
  const files = checkpoints();
  const worker = agent({ name: "worker", model: scriptedModel(turns), instructions: "Work.", tools: world.tools });
  const runtime = await testRuntime({ agents: [worker], plugins: [files], workspaces: world.workspaces, secrets });
  const session = await runtime.session({ agent: worker, workspace: "/work" });
  await (await session.send("Go")).result();
  const log = await runtime.store.read(session.id, { after: 0, limit: 10_000 });
  return { runtime, files, session, log };
}

function notes(log: readonly Fact[]): readonly unknown[] {
  return log.flatMap((fact) => (fact.type === "data" ? [fact.data] : []));
}

async function memory(files: { readonly [path: string]: string }): Promise<Workspace> {
  const open = fileWorld(files).workspaces["local"];
  if (open === undefined) throw new Error("there is one");
  return open("/work");
}

describe("checkpoints in the log", () => {
  it("SESS-16 notes what a file was before a call, and what it is after it, and nothing for a read", async () => {
    const world = fileWorld({ "a.ts": "old" });
    const { log, runtime } = await played(world, [read("a.ts"), write("./a.ts", "new"), write("b.ts", "b")]);
    expect(notes(log)).toEqual([
      { type: "before", callId: "run_1/2/0", files: [{ path: "a.ts", was: "kept", blob: sha256("old"), size: 3 }] },
      { type: "after", callId: "run_1/2/0", files: [{ path: "a.ts", is: "file", sha256: sha256("new") }] },
      { type: "before", callId: "run_1/3/0", files: [{ path: "b.ts", was: "absent" }] },
      { type: "after", callId: "run_1/3/0", files: [{ path: "b.ts", is: "file", sha256: sha256("b") }] },
    ]);
    expect(new TextDecoder().decode(await runtime.store.blob(sha256("old")))).toBe("old");
    await runtime.close();
  });

  it("SESS-16 says which files it cannot remove where the workspace cannot", async () => {
    const world = fileWorld({ "a.ts": "old" });
    const { runtime, files, session } = await played(world, [write("a.ts", "new"), write("b.ts", "b")]);
    const plan = await files.plan(session.id, { at: 1 });
    expect(plan.left).toEqual([{ path: "b.ts", why: "cannot-remove" }]);
    expect((await files.restore(plan)).restored).toEqual(["a.ts"]);
    expect(Object.fromEntries(world.files)).toEqual({ "a.ts": "old", "b.ts": "b" });
    await runtime.close();
  });

  it("SESS-16 keeps no content with a known secret in it", async () => {
    const world = fileWorld({ ".env": "KEY=sk-very-secret-1" });
    const { runtime, files, session, log } = await played(world, [write(".env", "KEY=")], ["sk-very-secret-1"]);
    const secret = sha256("KEY=sk-very-secret-1");
    expect(notes(log)[0]).toMatchObject({ files: [{ path: ".env", was: "not-kept", sha256: secret }] });
    expect(await runtime.store.blob(secret)).toBeUndefined();
    expect((await files.plan(session.id, { at: 1 })).left).toEqual([{ path: ".env", why: "not-kept" }]);
    await runtime.close();
  });
});

describe("checkpointOf", () => {
  it("SESS-16 takes no data of another kind for its own", () => {
    const of = (data: Json) =>
      checkpointOf({ type: "data", key: "k", name: "plugin/checkpoints", data, seq: 1, at: 0 })?.type;
    const strange: readonly Json[] = [null, 1, [], {}, { type: "before" }, { type: "after", callId: 1, files: [] }];
    expect(strange.map(of)).toEqual(strange.map(() => undefined));
    expect(of({ type: "before", callId: "c", files: [{ path: 1 }] })).toBeUndefined();
    expect(of({ type: "before", callId: "c", files: [{ path: "a", was: "absent" }] })).toBe("before");
  });
});

describe("keepFiles", () => {
  it("SESS-16 keeps as much as there is room for in the session", async () => {
    const kept: number[] = [];
    const engine = { putBlob: async (bytes: Uint8Array) => (kept.push(bytes.length), sha256(bytes)) };
    const workspace = await memory({ a: "12345", b: "1234567890", c: "12345" });
    const keeping = { workspace, keeper: { engine, redactor: redactor([]) }, signal: new AbortController().signal };
    const files = await keepFiles(["a", "b", "c", "gone"], { ...keeping, bytes: SESSION_BYTES - 12 });
    expect(files.map(({ was }) => was)).toEqual(["kept", "not-kept", "kept", "absent"]);
    expect(kept).toEqual([5, 5]);
  });

  it("SESS-16 takes so many files of a call, each once, none outside", async () => {
    const workspace = await memory({});
    const many = Array.from({ length: 2 * CALL_FILES }, (_, index) => `f${index}`);
    expect(await realNames(workspace, many)).toHaveLength(CALL_FILES);
    expect(await realNames(workspace, ["a", "./a", "/work/a", "../b", ".", "sub/../.."])).toEqual(["a"]);
  });
});
