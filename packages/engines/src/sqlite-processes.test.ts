import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import * as fs from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Fact, SessionSummary, Store } from "@capstan/core";
import { describe, expect, it, onTestFinished } from "vitest";
import { sqliteStore } from "./sqlite-store.ts";

const PACKAGE = join(import.meta.dirname, "..");
const STORE = `${process.env["TEST_PROGRAMS"]}/sqlite-store.js`; // bundled: it starts in a fraction of the time
const STRACE: string = "strace";
const UNSHARE: string = "unshare";
const HAS_STRACE = spawnSync(STRACE, ["-V"]).status === 0;
const IS_ROOT = process.getuid?.() === 0;
const CAN_MOUNT = IS_ROOT && spawnSync(UNSHARE, ["--mount", "true"]).status === 0;

/** What every child begins with: a store at `path`, `say` a line at once, `hear` one, and facts to write. */
const PRELUDE = `
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { sqliteStore } from "${STORE}";
const [path, durability] = process.argv.slice(1);
const say = (line) => writeSync(1, line + "\\n");
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const hear = async () => (await lines.next()).value;
const fact = (seq) => ({ type: "data", name: "n", data: "x".repeat(seq % 700), key: "data/" + seq, seq, at: seq });
const mail = (sessionId, key) => ({ sessionId, key, digest: key, actor: { id: "a", door: "t" }, accepted: { sessionId },
  body: { type: "child-finished", childSessionId: key } });
const store = await sqliteStore({ path, durability });
`;

describe("sqliteStore with several processes", { timeout: 60_000 }, () => {
  for (const durability of ["full", "relaxed"] as const) {
    it(`G1 has every ${durability} append and submit that resolved before SIGKILL`, async () => {
      const path = temporaryPath();
      const first = await sqliteStore({ path });
      await create(first, "ses_1");
      await first.close();
      let acknowledged = 1;
      let letters = 0;
      for (let round = 1; round <= 4; round += 1) {
        const child = start(path, WRITER, [durability]);
        const wanted = acknowledged + 15 * round;
        for await (const line of child.lines) {
          const [kind, value] = line.split(" ");
          if (kind === "fact") acknowledged = Number(value);
          else letters = Number(value);
          if (acknowledged >= wanted) child.process.kill("SIGKILL");
        }
        const store = await sqliteStore({ path });
        const facts = await readAll(store);
        expect(facts.map(({ seq }) => seq)).toEqual(Array.from({ length: facts.length }, (_, index) => index + 1));
        expect(facts.length).toBeGreaterThanOrEqual(acknowledged);
        const keys = (await store.mail("ses_1")).map(({ key }) => key);
        const sent = Array.from({ length: Math.floor(letters / 3) }, (_, index) => `letter/${3 * (index + 1)}`);
        expect(sent.filter((key) => !keys.includes(key))).toEqual([]);
        expect(await store.submit(letter("ses_1", sent[0] ?? "letter/3"))).toEqual({ sessionId: "ses_1" });
        acknowledged = facts.length;
        await store.close();
      }
    });
  }

  it("DUR-08 takes over at once from a process that was killed", async () => {
    const path = temporaryPath();
    const store = await open(path);
    await create(store, "ses_1");
    const child = start(path, HOLDER);
    expect(await child.next()).toBe("claimed 1");
    expect((await store.owners()).map(({ owner, alive }) => [owner, alive])).toEqual([["child", true]]);
    expect(await store.claim("ses_1", "parent")).toBeUndefined();
    child.process.kill("SIGKILL");
    await child.ended;
    expect((await store.owners()).map(({ owner, alive }) => [owner, alive])).toEqual([["child", false]]);
    expect(await store.claim("ses_1", "parent", "child")).toEqual({ epoch: 2, head: 1 });
    await store.register("parent");
    expect((await store.owners()).map(({ owner, alive }) => [owner, alive])).toEqual([["parent", true]]);
  });

  it("EDGE-04 G6 refuses what a frozen owner writes when it wakes up after a take-over", async () => {
    const path = temporaryPath();
    const store = await open(path);
    await create(store, "ses_1");
    const child = start(path, HOLDER);
    expect(await child.next()).toBe("claimed 1");
    child.process.kill("SIGSTOP");
    const claim = await store.claim("ses_1", "parent", "child");
    const mine: Fact = { type: "data", name: "mine", data: 1, key: "mine", seq: 2, at: 2 };
    await store.append({ sessionId: "ses_1", epoch: claim?.epoch ?? 0, facts: [mine] }, { sync: true });
    child.process.kill("SIGCONT");
    child.process.stdin?.write("append\n");
    expect(await child.next()).toBe("lost-ownership");
    expect((await readAll(store)).slice(1)).toEqual([mine]);
    child.process.stdin?.write("end\n");
    await child.ended;
  });

  it("EDGE-04 lets two processes write their own sessions into one file, and tells each of the other", async () => {
    const path = temporaryPath();
    const store = await open(path);
    await create(store, "ses_1");
    await create(store, "ses_2");
    let told = 0;
    const heard = Promise.withResolvers<void>();
    const stop = store.watch(() => {
      told += 1;
      if (told >= 2) heard.resolve();
    });
    const child = start(
      path,
      `await store.claim("ses_2", "child");
for (let seq = 2; seq <= 200; seq += 1) await store.append({ sessionId: "ses_2", epoch: 1, facts: [fact(seq)] }, { sync: seq % 3 === 0 });
say("half");
await hear();
await store.submit(mail("ses_2", "done"));
await store.close();
process.exit();`,
    );
    const claim = await store.claim("ses_1", "parent");
    for (let seq = 2; seq <= 200; seq += 1) {
      const fact: Fact = { type: "data", name: "n", data: seq, key: `data/${seq}`, seq, at: seq };
      await store.append({ sessionId: "ses_1", epoch: claim?.epoch ?? 0, facts: [fact] }, { sync: seq % 2 === 0 });
    }
    expect(await child.next()).toBe("half");
    while (told === 0) await new Promise((resolve) => setImmediate(resolve));
    child.process.stdin?.write("on\n");
    await child.ended;
    await heard.promise;
    stop();
    for (const id of ["ses_1", "ses_2"]) expect((await readAll(store, id)).length).toBe(200);
    expect((await store.pending()).map(({ sessionId }) => sessionId)).toEqual(["ses_2"]);
  });

  it("lets many processes open a new store at the same time", async () => {
    const path = temporaryPath();
    const children = Array.from({ length: 4 }, (_, index) =>
      start(
        path,
        `await store.submit(mail("none", "x")).catch((error) => say(error.code + " ${index}"));
await store.close();
process.exit();`,
      ),
    );
    expect(await Promise.all(children.map((child) => child.next()))).toEqual(
      [0, 1, 2, 3].map((index) => `session-not-found ${index}`),
    );
    await Promise.all(children.map((child) => child.ended));
  });

  it("lets the process end while somebody watches", async () => {
    const child = start(
      temporaryPath(),
      `store.watch(() => {});
await store.register("a");
say("up");
lines.return();
process.stdin.destroy();`,
    );
    expect(await child.next()).toBe("up");
    expect(await child.ended).toBe(0);
  });

  describe.skipIf(!HAS_STRACE)("seen by strace", () => {
    it("G1 syncs each acknowledged write in full durability, and none in between", async () => {
      const path = temporaryPath();
      const log = `${path}.trace`;
      for (const [durability, expected] of [
        ["full", 20],
        ["relaxed", 0],
      ] as const) {
        const child = start(path, SYNCS, [durability], [STRACE, "-f", "-e", "trace=fsync,fdatasync,write", "-o", log]);
        expect(await child.ended).toBe(0);
        const [, during = ""] = fs.readFileSync(log, "utf8").split(/"begin\\n"|"end\\n"/);
        expect(during.match(/f(data)?sync\(/g)?.length ?? 0).toBe(expected);
        expect(during.match(/"acknowledged\\n"/g)?.length).toBe(40);
        for (const suffix of ["", ".anchor"]) fs.rmSync(path + suffix);
      }
    });

    it("G8 rejects what a failed sync leaves in doubt, and goes on with a new connection", async () => {
      const path = temporaryPath();
      const inject = [STRACE, "-f", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e"];
      const child = start(path, FAILING_SYNC, ["full"], [...inject, "inject=fsync,fdatasync:error=EIO:when=12..13"]);
      const said: string[] = [];
      for await (const line of child.lines) said.push(line);
      expect(await child.ended).toBe(0);
      const acknowledged = said.filter((line) => line.startsWith("ok ")).map((line) => Number(line.slice(3)));
      expect(said.filter((line) => line === "store-failed").length).toBeGreaterThan(0);
      expect(said.at(-1)).toBe("went on");
      const store = await open(path);
      const kept = new Set((await readAll(store)).map(({ seq }) => seq));
      expect(acknowledged.filter((seq) => !kept.has(seq))).toEqual([]);
      expect((await store.list({ status: "quarantined" })).length).toBe(0);
    });
  });

  it.skipIf(process.platform === "win32")("says that a read-only folder or file cannot be written", async () => {
    const [lockedFile, lockedFolder] = [temporaryPath(), temporaryPath()];
    for (const path of [lockedFile, lockedFolder]) {
      const store = await sqliteStore({ path });
      await create(store, "ses_1");
      await store.close();
    }
    fs.chmodSync(join(lockedFile, ".."), 0o755);
    fs.chmodSync(lockedFile, 0o444);
    fs.chmodSync(lockedFolder, 0o666);
    fs.chmodSync(join(lockedFolder, ".."), 0o555);
    const targets = [lockedFile, lockedFolder, join(lockedFolder, "..", "new", "store.db")];
    const code = `import { sqliteStore } from "${STORE}";
for (const path of process.argv.slice(1))
  await sqliteStore({ path }).catch((error) => console.log(error.code, error.message));`;
    const user = IS_ROOT ? { uid: 65_534, gid: 65_534 } : {};
    const words = [...NODE_ARGUMENTS, code, ...targets];
    const { stdout } = spawnSync(process.execPath, words, { cwd: PACKAGE, encoding: "utf8", ...user });
    fs.chmodSync(join(lockedFolder, ".."), 0o700);
    const said = targets.map((path) => expect.stringMatching(new RegExp(`^store-readonly ${path} `)));
    expect(stdout.trimEnd().split("\n")).toEqual(said);
  });

  it.skipIf(!CAN_MOUNT)("G8 tells of a real full disk, and goes on when there is room", async () => {
    const folder = join(temporaryPath(), "..");
    const code = `${FULL_DISK}`;
    const shell = `mount -t tmpfs -o size=1m none "$1" && exec "$2" ${NODE_ARGUMENTS.map((word) => `'${word}'`).join(" ")} "$3" "$1/store.db" full`;
    const { stdout, stderr } = spawnSync(
      UNSHARE,
      ["--mount", "sh", "-c", shell, "sh", folder, process.execPath, PRELUDE + code],
      { cwd: PACKAGE, env: ENV, encoding: "utf8" },
    );
    expect([stdout, stderr]).toEqual(["store-full\nwent on\n", ""]);
  });
});

/** Code compiled once for all children, in the home of this run of the tests. */
const ENV = { ...process.env, NODE_COMPILE_CACHE: join(homedir(), "compiled") };
const NODE_ARGUMENTS = [
  "--conditions=capstan-source",
  "--disable-warning=ExperimentalWarning",
  "--input-type=module",
  "-e",
];

/** Appends and submits for ever, telling of each acknowledgement. */
const WRITER = `
const { epoch, head } = await store.claim("ses_1", "w" + process.pid, (await store.owners())[0]?.owner);
await store.register("w" + process.pid);
for (let seq = head + 1; ; seq += 1) {
  const writes = [store.append({ sessionId: "ses_1", epoch, facts: [fact(seq)] }, { sync: seq % 2 === 0 })];
  if (seq % 3 === 0) writes.push(store.submit(mail("ses_1", "letter/" + seq)));
  await Promise.all(writes);
  say("fact " + seq);
  if (seq % 3 === 0) say("letter " + seq);
}`;

const HOLDER = `
await store.register("child");
const { epoch, head } = await store.claim("ses_1", "child");
say("claimed " + epoch);
while ((await hear()) === "append") {
  await store.append({ sessionId: "ses_1", epoch, facts: [fact(head + 1)] }, { sync: true }).then(() => say("written"), (error) => say(error.code));
}
await store.close();
process.exit();`;

const CREATE = `
const created = (sessionId) => ({ sessionId, facts: [fact(1)], summary: { sessionId, agent: "a", status: "idle", queued: 0,
  openRequests: [], usage: { inputTokens: 0, outputTokens: 0 }, createdAt: 1, updatedAt: 1, head: 1 } });
await store.create(created("ses_1"));
const { epoch } = await store.claim("ses_1", "child");`;

const SYNCS = `${CREATE}
say("begin");
for (let seq = 2; seq <= 41; seq += 1) {
  await store.append({ sessionId: "ses_1", epoch, facts: [fact(seq)] }, { sync: seq % 2 === 0 });
  say("acknowledged");
}
say("end");
await store.close();
process.exit();`;

const FAILING_SYNC = `${CREATE}
let held = epoch;
for (let seq = 2, round = 0; round < 30; round += 1) {
  try {
    await store.append({ sessionId: "ses_1", epoch: held, facts: [fact(seq)] }, { sync: true });
    say("ok " + seq);
    seq += 1;
  } catch (error) {
    say(error.code);
    const claim = await store.claim("ses_1", "child").catch((failed) => say("claim " + failed.code));
    if (claim !== undefined) [held, seq] = [claim.epoch, claim.head + 1];
  }
}
await store.append({ sessionId: "ses_1", epoch: held, facts: [] }, { sync: true });
say("went on");
await store.close();
process.exit();`;

const FULL_DISK = `${CREATE}
import { writeFileSync, rmSync } from "node:fs";
const ballast = path + ".ballast";
try { for (let n = 0; ; n += 1) writeFileSync(ballast, "x".repeat(4096), { flag: "a" }); } catch {}
const big = { ...fact(2), data: "x".repeat(100_000) };
await store.append({ sessionId: "ses_1", epoch, facts: [big] }, { sync: true }).catch((error) => say(error.code));
rmSync(ballast);
await store.append({ sessionId: "ses_1", epoch, facts: [big] }, { sync: true });
if ((await store.read("ses_1", { after: 0 })).length === 2) say("went on");
await store.close();
process.exit();`;

type Child = {
  readonly process: ChildProcess;
  readonly lines: AsyncIterable<string>;
  readonly next: () => Promise<string | undefined>;
  readonly ended: Promise<number | null>;
};

function start(path: string, code: string, more: readonly string[] = ["full"], before: readonly string[] = []): Child {
  const [command = "", ...words] = [...before, process.execPath, ...NODE_ARGUMENTS, PRELUDE + code, path, ...more];
  const child = spawn(command, words, { cwd: PACKAGE, env: ENV, stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise<number | null>((resolve) => child.on("exit", resolve));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string | undefined> => {
    const { value, done } = await lines.next();
    return done === true ? undefined : value;
  };
  return { process: child, lines: { [Symbol.asyncIterator]: () => lines }, next, ended };
}

function temporaryPath(): string {
  const folder = fs.mkdtempSync(join(tmpdir(), "capstan-store-"));
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }));
  return join(folder, "store.db");
}

async function open(path: string): Promise<Store> {
  const store = await sqliteStore({ path });
  onTestFinished(() => store.close());
  return store;
}

async function create(store: Store, sessionId: string): Promise<void> {
  const actor = { id: "ada", door: "test" };
  const created: Fact = {
    type: "session.created",
    key: "session",
    seq: 1,
    at: 1,
    sessionId,
    agent: "helper",
    mode: "ask",
    actor,
  };
  const none = {
    queued: 0,
    openRequests: [],
    usage: { inputTokens: 0, outputTokens: 0 },
    createdAt: 1,
    updatedAt: 1,
    head: 1,
  };
  const summary: SessionSummary = { sessionId, agent: "helper", status: "idle", ...none };
  await store.create({ sessionId, facts: [created], summary });
}

function letter(sessionId: string, key: string) {
  const body = { type: "child-finished", childSessionId: key } as const;
  return { sessionId, key, digest: key, actor: { id: "a", door: "t" }, accepted: { sessionId }, body };
}

async function readAll(store: Store, sessionId = "ses_1"): Promise<readonly Fact[]> {
  const all: Fact[] = [];
  for (;;) {
    const page = await store.read(sessionId, { after: all.length });
    if (page.length === 0) return all;
    all.push(...page);
  }
}
