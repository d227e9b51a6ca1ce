import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
  chmodSync,
  rmSync,
  readdirSync,
} from "node:fs";
import { join } from "node:path";
import {
  type Agent,
  agent,
  CapstanError,
  type Fact,
  type Json,
  memoryStore,
  type Runtime,
  type Session,
  tool,
  jsonSchema,
  storeEngine,
  systemClock,
  systemIds,
  type Workspace,
} from "@capstan/core";
import { crashSweep, scriptedModel, type ScriptedReply } from "@capstan/core/testing";
import {
  type Checkpoints,
  checkpoints,
  planRewind,
  restoreFiles,
  type RewindPlan,
  type Restored,
} from "@capstan/plugins/checkpoints";
import { codingTools, localWorkspace } from "@capstan/tools";
import { describe, expect, it } from "vitest";
import { factsOf, memoryRuntime } from "./harness/memory-runtime.ts";
import { temporaryFolder } from "./harness/temporary-folder.ts";

const call = (name: string, input: Json): ScriptedReply => ({ calls: [{ name, input }] });
const write = (path: string, content: string): ScriptedReply => call("write_file", { path, content });
const edit = (path: string, from: string, to: string): ScriptedReply =>
  call("edit", { path, old_string: from, new_string: to });
const shell = (command: string): ScriptedReply => call("shell", { command });
const done: ScriptedReply = { text: "done" };

type World = AsyncDisposable & {
  readonly root: string;
  readonly files: Checkpoints;
  readonly runtime: Runtime & { readonly store: Parameters<typeof factsOf>[0] };
  readonly session: Session;
  readonly put: (path: string, text: string) => void;
  readonly get: (path: string) => string | undefined;
  /** Sends an input and returns the number of the last fact after its end. */
  readonly go: () => Promise<number>;
  readonly facts: () => Promise<readonly Fact[]>;
  /** Plans and restores. */
  readonly back: (
    at: number,
    overwrite?: readonly string[],
  ) => Promise<{ readonly plan: RewindPlan; readonly end: Restored }>;
};

async function world(turns: readonly ScriptedReply[], more: readonly Agent<unknown>[] = []): Promise<World> {
  const root = temporaryFolder();
  const files = checkpoints();
  const coder = agent({
    name: "coder",
    model: scriptedModel(turns),
    instructions: "Work.",
    tools: [...codingTools(), ...more],
  });
  const runtime = await memoryRuntime([coder, ...more], {
    plugins: [files],
    permission: { mode: "bypass" },
    workspaces: { local: localWorkspace },
    onRequest: () => Promise.resolve({ type: "permission", allow: true }),
  });
  const session = await runtime.session({ agent: coder, workspace: root });
  const facts = (): Promise<readonly Fact[]> => factsOf(runtime.store, session.id);
  return {
    root,
    files,
    runtime,
    session,
    put: (path, text) => {
      mkdirSync(join(root, path, ".."), { recursive: true });
      writeFileSync(join(root, path), text);
    },
    get: (path) => (existsSync(join(root, path)) ? readFileSync(join(root, path), "utf8") : undefined),
    go: async () => {
      await (await session.send("Go")).text();
      return (await facts()).length;
    },
    facts,
    async back(at, overwrite = []) {
      const plan = await files.plan(session.id, { at });
      return { plan, end: await files.restore(plan, { overwrite }) };
    },
    [Symbol.asyncDispose]: () => runtime.close(),
  };
}

describe("checkpoints", () => {
  it("SESS-16 takes files back with the conversation: changed, created and removed ones, after showing it", async () => {
    await using at = await world([
      done,
      edit("a.ts", "one", "two"),
      edit("./a.ts", "two", "three"),
      write("new/b.ts", "b"),
      shell("rm gone.ts > log.txt"),
      done,
      done,
    ]);
    at.put("a.ts", "one\n");
    at.put("gone.ts", "gone");
    chmodSync(join(at.root, "a.ts"), 0o755);
    const before = await at.go();
    await at.go();
    expect([at.get("a.ts"), at.get("new/b.ts")]).toEqual(["three\n", "b"]);
    const plan = await at.files.plan(at.session.id, { at: before });
    expect(plan.files.filter(({ path }) => path !== "gone.ts")).toEqual([
      expect.objectContaining({ path: "a.ts", action: "write", nowSize: 6, size: 4 }),
      expect.objectContaining({ path: "log.txt", action: "remove" }),
      expect.objectContaining({ path: "new/b.ts", action: "remove", nowSize: 1 }),
    ]);
    expect(plan).toMatchObject({ left: [], commands: ["Run rm gone.ts > log.txt"] });
    expect(JSON.parse(JSON.stringify(plan))).toEqual(plan);
    expect(at.get("a.ts")).toBe("three\n");
    const { left } = await at.files.restore(plan);
    expect(left).toEqual([]);
    expect([at.get("a.ts"), at.get("new/b.ts"), at.get("log.txt")]).toEqual(["one\n", undefined, undefined]);
    expect(statSync(join(at.root, "a.ts")).mode & 0o777).toBe(0o755);
    const fork = await at.session.fork({ at: before });
    expect((await fork.messages()).length).toBe(2);
    expect(await at.files.plan(at.session.id, { at: before })).toMatchObject({ files: [], left: [] });
  });

  it("SESS-16 goes back to a point in the middle of a run, before the call that was under way there", async () => {
    await using at = await world([edit("a.ts", "1", "2"), edit("a.ts", "2", "3"), edit("a.ts", "3", "4"), done]);
    at.put("a.ts", "1");
    await at.go();
    const facts = await at.facts();
    const started = facts.filter(({ type }) => type === "tool.started").map(({ seq }) => seq);
    const finished = facts.filter(({ type }) => type === "tool.finished").map(({ seq }) => seq);
    for (const [point, text] of [
      [finished[1], "3"],
      [started[1], "2"],
      [finished[0], "2"],
      [started[0], "1"],
    ] as const) {
      await at.back(point ?? 0, ["a.ts"]);
      expect(at.get("a.ts")).toBe(text);
    }
  });

  it("SESS-16 leaves what others changed since or in between, unless told to overwrite it", async () => {
    await using at = await world([
      done,
      write("since.ts", "agent"),
      write("between.ts", "agent 1"),
      shell("echo other >> between.ts; true"),
      edit("mine.ts", "old", "new"),
      call("edit", { path: "between.ts", old_string: "agent 1", new_string: "agent 2" }),
      done,
    ]);
    for (const path of ["since.ts", "between.ts", "mine.ts"]) at.put(path, "old");
    const before = await at.go();
    await at.go();
    at.put("since.ts", "a person");
    const { plan, end } = await at.back(before);
    const conflicts = plan.files.map(({ path, conflict }) => [path, conflict]);
    expect(conflicts).toEqual([
      ["between.ts", undefined],
      ["mine.ts", undefined],
      ["since.ts", "changed-since"],
    ]);
    expect(end.left).toEqual([{ path: "since.ts", why: "no-consent" }]);
    expect([at.get("since.ts"), at.get("mine.ts")]).toEqual(["a person", "old"]);
    expect((await at.back(before, ["since.ts"])).end).toEqual({ restored: ["since.ts"], left: [] });
    expect(at.get("since.ts")).toBe("old");
  });

  it("SESS-16 sees that somebody changed a file between two calls", async () => {
    let meddle = (): void => undefined;
    const meddler = tool({
      name: "meddle",
      description: "Somebody else.",
      input: jsonSchema<object>({ type: "object" }),
      kind: "read",
      rerun: "safe",
      needs: () => [],
      execute: () => (meddle(), "ok"),
    });
    const root = temporaryFolder();
    const files = checkpoints();
    const turns = [edit("a.ts", "old", "one"), call("meddle", {}), edit("a.ts", "one", "two"), done];
    const coder = agent({
      name: "coder",
      model: scriptedModel(turns),
      instructions: "W",
      tools: [...codingTools(), meddler],
    });
    await using runtime = await memoryRuntime([coder], {
      plugins: [files],
      permission: { mode: "bypass" },
      workspaces: { local: localWorkspace },
    });
    meddle = () => writeFileSync(join(root, "a.ts"), "one and a note");
    writeFileSync(join(root, "a.ts"), "old");
    const session = await runtime.session({ agent: coder, workspace: root });
    await (await session.send("Go")).text();
    const plan = await files.plan(session.id, { at: 1 });
    expect(plan.files).toEqual([expect.objectContaining({ path: "a.ts", conflict: "changed-between" })]);
    await files.restore(plan);
    expect(readFileSync(join(root, "a.ts"), "utf8")).toBe("two and a note");
  });

  it("SESS-16 never writes through a link, into another name of a file, outside the root, or a protected path", async () => {
    await using at = await world([
      done,
      write("linked.ts", "agent"),
      write("folder/in.ts", "agent"),
      write("hard.ts", "agent"),
      write(".envrc", "agent"),
      write("../outside.ts", "agent"),
      done,
    ]);
    const outside = temporaryFolder();
    for (const path of ["linked.ts", "folder/in.ts", "hard.ts", ".envrc"]) at.put(path, "old");
    const before = await at.go();
    await at.go();
    expect(at.get(".envrc")).toBe("agent");
    for (const name of ["linked.ts", "in.ts"]) writeFileSync(join(outside, name), "agent");
    rmSync(join(at.root, "linked.ts"));
    symlinkSync(join(outside, "linked.ts"), join(at.root, "linked.ts"));
    rmSync(join(at.root, "folder"), { recursive: true });
    symlinkSync(outside, join(at.root, "folder"));
    linkSync(join(at.root, "hard.ts"), join(outside, "hard.ts"));
    const { end } = await at.back(before, ["linked.ts", "folder/in.ts", "hard.ts", ".envrc"]);
    expect(end.restored).toEqual(["hard.ts"]);
    expect(end.left).toEqual([
      { path: ".envrc", why: "protected" },
      { path: "folder/in.ts", why: "not-a-file" },
      { path: "linked.ts", why: "not-a-file" },
    ]);
    expect(at.get("hard.ts")).toBe("old");
    for (const name of ["linked.ts", "in.ts", "hard.ts"])
      expect(readFileSync(join(outside, name), "utf8")).toBe("agent");
    expect(at.get(".envrc")).toBe("agent");
    const facts = JSON.stringify((await at.facts()).filter(({ type }) => type === "data"));
    expect(facts).not.toContain("outside.ts");
  });

  it("SESS-16 refuses a plan whose paths were made up", async () => {
    await using at = await world([done, write("a.ts", "agent"), done]);
    const outside = temporaryFolder();
    writeFileSync(join(outside, "victim"), "x");
    const before = await at.go();
    await at.go();
    const plan = await at.files.plan(at.session.id, { at: before });
    const [file] = plan.files;
    if (file === undefined) throw new Error("there is a file");
    const paths = [join(outside, "victim"), "../x", ".git/config", "", "a\0b", "."];
    const { restored, left } = await at.files.restore({ ...plan, files: paths.map((path) => ({ ...file, path })) });
    expect(restored).toEqual([]);
    expect(left.map(({ path }) => path)).toEqual(paths);
    expect(readdirSync(outside)).toEqual(["victim"]);
  });

  it("SESS-16 leaves a file that changes between the plan and the restore", async () => {
    await using at = await world([done, write("a.ts", "agent"), write("b.ts", "agent"), done]);
    at.put("a.ts", "old");
    const before = await at.go();
    await at.go();
    const plan = await at.files.plan(at.session.id, { at: before });
    at.put("a.ts", "a person");
    at.put("b.ts", "a person");
    const { restored, left } = await at.files.restore(plan, { overwrite: ["a.ts", "b.ts"] });
    expect(restored).toEqual([]);
    expect(left.map(({ path, why }) => [path, why])).toEqual([
      ["a.ts", "changed"],
      ["b.ts", "changed"],
    ]);
    expect([at.get("a.ts"), at.get("b.ts")]).toEqual(["a person", "a person"]);
  });

  it("SESS-16 goes on after a restore that was cut off, and overwrites nothing twice", async () => {
    await using at = await world([done, write("a.ts", "agent"), write("b.ts", "agent"), write("c.ts", "agent"), done]);
    for (const path of ["a.ts", "b.ts"]) at.put(path, "old");
    const before = await at.go();
    await at.go();
    const whole = await at.files.plan(at.session.id, { at: before });
    await at.files.restore({ ...whole, files: whole.files.slice(0, 1) });
    const rest = await at.files.plan(at.session.id, { at: before });
    expect(rest.files.map(({ path, action }) => [path, action])).toEqual([
      ["b.ts", "write"],
      ["c.ts", "remove"],
    ]);
    expect((await at.files.restore(rest)).left).toEqual([]);
    expect([at.get("a.ts"), at.get("b.ts"), at.get("c.ts")]).toEqual(["old", "old", undefined]);
  });

  it("SESS-16 ends with the same files wherever a restore is cut off, once it is done again", async () => {
    await using at = await world([done, write("a.ts", "agent"), write("b.ts", "agent"), write("c.ts", "agent"), done]);
    for (const path of ["a.ts", "b.ts"]) at.put(path, "old");
    const before = await at.go();
    await at.go();
    const engine = storeEngine(at.runtime.store, { clock: systemClock, ids: systemIds(() => 0) });
    const local = await localWorkspace(at.root);
    const place = { engine, sessionId: at.session.id, at: before, openWorkspace: () => Promise.resolve(local) };
    for (let cut = 0; cut < 6; cut++) {
      for (const path of ["a.ts", "b.ts", "c.ts"]) at.put(path, "agent");
      const broken = cutOff(local, cut);
      await expect(restoreFiles(await planRewind(place), { engine, workspace: broken })).rejects.toThrow("cut off");
      const again = await restoreFiles(await planRewind(place), { engine, workspace: local });
      expect(again.left).toEqual([]);
      expect([at.get("a.ts"), at.get("b.ts"), at.get("c.ts")]).toEqual(["old", "old", undefined]);
    }
    expect(readdirSync(at.root).toSorted()).toEqual(["a.ts", "b.ts"]);
    await local.close();
  });

  it("SESS-16 goes back in a fork too, also when the session that it came from is gone", async () => {
    await using at = await world([done, write("a.ts", "agent"), done]);
    at.put("a.ts", "old");
    const before = await at.go();
    await at.go();
    const fork = await at.session.fork();
    await at.session.remove();
    const plan = await at.files.plan(fork.id, { at: before });
    expect(await at.files.restore(plan)).toEqual({ restored: ["a.ts"], left: [] });
    expect(at.get("a.ts")).toBe("old");
  });

  it("SESS-16 knows what an interrupted call left", async () => {
    const root = temporaryFolder();
    const files = checkpoints();
    const slow = tool({
      name: "slow",
      description: "Writes, and takes its time.",
      input: jsonSchema<object>({ type: "object" }),
      kind: "edit",
      needs: () => [{ type: "write", path: "a.ts" }],
      async execute(_input, { workspace, signal, session }) {
        await workspace.write("a.ts", new TextEncoder().encode("half"));
        void runtime.session(session.id).then((own) => own.interrupt());
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        return "stopped";
      },
    });
    const coder = agent({ name: "coder", model: scriptedModel([call("slow", {})]), instructions: "W", tools: [slow] });
    await using runtime = await memoryRuntime([coder], {
      plugins: [files],
      permission: { mode: "bypass" },
      workspaces: { local: localWorkspace },
    });
    writeFileSync(join(root, "a.ts"), "old");
    const session = await runtime.session({ agent: coder, workspace: root });
    expect((await (await session.send("Go")).result()).reason).toBe("interrupted");
    const plan = await files.plan(session.id, { at: 1 });
    expect(plan.files.map(({ path, conflict }) => [path, conflict])).toEqual([["a.ts", undefined]]);
    await files.restore(plan);
    expect(readFileSync(join(root, "a.ts"), "utf8")).toBe("old");
  });

  it("SESS-16 takes several changes of one turn for the session's own", async () => {
    const calls = [
      { name: "edit", input: { path: "a.ts", old_string: "1", new_string: "2" } },
      { name: "edit", input: { path: "a.ts", old_string: "2", new_string: "3" } },
      { name: "write_file", input: { path: "b.ts", content: "b" } },
      { name: "edit", input: { path: "b.ts", old_string: "b", new_string: "c" } },
    ];
    await using at = await world([{ calls }, done]);
    at.put("a.ts", "1");
    await at.go();
    expect(at.get("a.ts")).toBe("3");
    const { plan, end } = await at.back(1);
    expect(plan.files.map(({ path, conflict }) => [path, conflict])).toEqual([
      ["a.ts", undefined],
      ["b.ts", undefined],
    ]);
    expect(end.left).toEqual([]);
    expect([at.get("a.ts"), at.get("b.ts")]).toEqual(["1", undefined]);
  });

  it("SESS-16 refuses to restore while a run is at work", async () => {
    const root = temporaryFolder();
    const files = checkpoints();
    let restored: unknown;
    const now = tool({
      name: "now",
      description: "Goes back from within.",
      input: jsonSchema<object>({ type: "object" }),
      kind: "read",
      rerun: "safe",
      needs: () => [],
      async execute(_input, { session }) {
        const plan = await files.plan(session.id, { at: 1 });
        restored = await files.restore(plan).catch((error: unknown) => (CapstanError.is(error) ? error.code : error));
        return "ok";
      },
    });
    const turns = [write("a.ts", "agent"), call("now", {}), done];
    const coder = agent({
      name: "coder",
      model: scriptedModel(turns),
      instructions: "W",
      tools: [...codingTools(), now],
    });
    await using runtime = await memoryRuntime([coder], {
      plugins: [files],
      permission: { mode: "bypass" },
      workspaces: { local: localWorkspace },
    });
    const session = await runtime.session({ agent: coder, workspace: root });
    await (await session.send("Go")).text();
    expect(restored).toBe("session-busy");
    expect(readFileSync(join(root, "a.ts"), "utf8")).toBe("agent");
  });

  it("SESS-16 takes back what sub-agents changed, and keeps bytes as they are", async () => {
    const helper = agent({
      name: "helper",
      description: "Helps.",
      model: scriptedModel([write("bytes.bin", "text"), done]),
      instructions: "Help.",
      tools: codingTools(),
    });
    await using at = await world([done, call("helper", { task: "do it" }), done], [helper]);
    const bytes = Buffer.from([0xff, 0x00, 0xfe, 0x0d, 0x0a, 0x80]);
    writeFileSync(join(at.root, "bytes.bin"), bytes);
    const before = await at.go();
    const after = await at.go();
    expect(at.get("bytes.bin")).toBe("text");
    expect((await at.files.plan(at.session.id, { at: after })).files).toEqual([]);
    const { end } = await at.back(before);
    expect(end).toEqual({ restored: ["bytes.bin"], left: [] });
    expect(readFileSync(join(at.root, "bytes.bin"))).toEqual(bytes);
  });

  it("SESS-16 says what it cannot know: no such session, no such point, no folder, no runtime", async () => {
    await using at = await world([done]);
    const code = (promise: Promise<unknown>): Promise<unknown> =>
      promise.then(
        () => "no error",
        (error: unknown) => (CapstanError.is(error) ? error.code : error),
      );
    expect(await code(at.files.plan("ses_none", { at: 1 }))).toBe("session-not-found");
    for (const point of [0, -1, 1.5, 99, Number.NaN])
      expect(await code(at.files.plan(at.session.id, { at: point }))).toBe("cursor-invalid");
    const elsewhere = await at.runtime.session({ agent: "coder" });
    expect(await code(at.files.plan(elsewhere.id, { at: 1 }))).toBe("workspace-missing");
    expect(await code(checkpoints().plan(at.session.id, { at: 1 }))).toBe("plugin-invalid");
  });

  it("SESS-16 keeps a large file only in its note, and leaves it when going back", async () => {
    await using at = await world([done, shell("echo x > large.bin"), done]);
    writeFileSync(join(at.root, "large.bin"), Buffer.alloc(16 * 1024 * 1024 + 1));
    const before = await at.go();
    await at.go();
    expect((await at.back(before)).end.left).toEqual([{ path: "large.bin", why: "not-kept" }]);
    expect(at.get("large.bin")).toBe("x\n");
  });

  it("SESS-16 DUR-01 knows after every crash what a file was, or asks before it overwrites it", async () => {
    const root = temporaryFolder();
    const files = checkpoints();
    const model = scriptedModel([edit("a.ts", "old", "new"), done]);
    const coder = agent({ name: "coder", model, instructions: "Work.", tools: codingTools() });
    const seen = new Set<string>();
    await crashSweep({
      agents: [coder],
      plugins: [files],
      permission: { mode: "never-ask", allow: ["edit"] },
      workspaces: { local: localWorkspace },
      store: () => {
        writeFileSync(join(root, "a.ts"), "old");
        const store = memoryStore();
        return () => Promise.resolve(store);
      },
      journey: async (runtime) => {
        const session = await runtime.session({ agent: coder, key: "k", workspace: root });
        const run = await session.send("Go", { idempotencyKey: "go" });
        await run.result();
        const plan = await files.plan(session.id, { at: 1 });
        const text = readFileSync(join(root, "a.ts"), "utf8");
        for (const { path, action, conflict } of plan.files)
          seen.add(`${text}: ${action} ${path} ${conflict ?? "known"}`);
        if (plan.files.length === 0) seen.add(`${text}: nothing ${plan.left.length}`);
      },
      compare: () => undefined,
    });
    expect([...seen].filter((line) => !/^new: write a\.ts (known|unknown)$|^old: nothing 0$/.test(line))).toEqual([]);
    expect(seen).toContain("new: write a.ts known");
  });
});

/** A workspace of a process that dies: odd numbers right after the change of that number, even ones before it. */
function cutOff(workspace: Workspace, cut: number): Workspace {
  let changes = 0;
  const change = async <T>(work: () => Promise<T>): Promise<T> => {
    const last = changes++ === Math.floor(cut / 2);
    if (last && cut % 2 === 0) throw new Error("cut off");
    const result = await work();
    if (last) throw new Error("cut off");
    return result;
  };
  return new Proxy(workspace, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      const bound = (...words: readonly unknown[]): Promise<unknown> => Reflect.apply(member, target, words) as never; // as it gives
      return name === "write" || name === "remove"
        ? (...words: readonly unknown[]) => change(() => bound(...words))
        : bound;
    },
  });
}
