import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Fact, NewSession, Store } from "@capstan/core";
import { describe, expect, it, onTestFinished } from "vitest";
import { sqliteStore } from "./sqlite-store.ts";

const PAGE = 4_096;

describe("a log that is cut while the store is open", () => {
  for (const left of [0, 32, 3 * (24 + PAGE) + 32]) {
    it(`G1 G7 DUR-01 is noticed by the next write, and does not spoil what was in the database: ${left} bytes left`, async () => {
      const path = join(folder(), "store.db");
      await withSession(path, "ses_old"); // closing brings it into the database itself
      const store = await sqliteStore({ path });
      await store.create(session("ses_new"));
      const claim = await store.claim("ses_new", "owner-a");
      const write = (seq: number): Promise<void> =>
        store.append({ sessionId: "ses_new", epoch: claim?.epoch ?? 0, facts: [fact(seq)] }, { sync: true });
      for (let seq = 2; seq < 20; seq++) await write(seq);
      fs.truncateSync(`${path}-wal`, left);
      await expect(write(20)).rejects.toMatchObject({
        code: "store-damaged",
        message: expect.stringContaining("-wal"),
      });
      await store.close();
      const again = await open(path);
      expect(await again.read("ses_old", { after: 0 })).toHaveLength(3);
      expect((await again.summary("ses_new"))?.status).toBe("quarantined"); // what was acknowledged is missed
      await again.create(session("ses_next"));
    });
  }
});

describe.runIf(process.platform === "linux")("two stores of one process on one file", () => {
  it("SESS-03 keep the locks of each other", async () => {
    const path = join(folder(), "store.db");
    const store = await open(path);
    await store.create(session("ses_1"));
    const before = locksOf(path);
    expect(before).toBeGreaterThan(0);
    const second = await sqliteStore({ path });
    await second.create(session("ses_2"));
    expect(locksOf(path)).toBe(before);
    await second.close();
    expect(locksOf(path)).toBe(before);
  });

  it("SESS-03 see the file by another name too", async () => {
    const path = join(folder(), "store.db");
    const store = await open(path);
    await store.create(session("ses_1"));
    const before = locksOf(path);
    const link = join(folder(), "link.db");
    fs.symlinkSync(path, link);
    const second = await open(link);
    expect(await second.summary("ses_1")).toBeDefined();
    await second.create(session("ses_2"));
    expect(locksOf(path)).toBe(before);
    expect(await store.summary("ses_2")).toBeDefined();
  });
});

describe("many sessions", () => {
  const MANY = 2_300;
  const crowd = async (): Promise<Store> => {
    const store = await open(join(folder(), "store.db"));
    const make = async (number: number): Promise<void> => {
      const sessionId = `ses_${number}`;
      const [, claim] = await Promise.all([store.create(session(sessionId)), store.claim(sessionId, "owner-a")]);
      const timers = [{ name: "wake", at: 10 + (number % 3) }];
      await store.append({ sessionId, epoch: claim?.epoch ?? 0, facts: [], timers }, { sync: false });
    };
    await Promise.all(Array.from({ length: MANY }, (_, number) => make(number)));
    return store;
  };
  const newestFirst = (count: number, from = MANY): readonly string[] =>
    Array.from({ length: count }, (_, index) => `ses_${from - 1 - index}`);
  /** How often other work had its turn until the promise was settled. */
  const turns = async (promise: Promise<unknown>): Promise<number> => {
    let count = 0;
    let settled = false;
    const end = promise.finally(() => (settled = true));
    while (!settled) {
      count += 1;
      await new Promise((resolve) => setImmediate(resolve));
    }
    await end;
    return count;
  };

  it("SESS-01 lists all of them, each once, in pieces that let other work through", async () => {
    const store = await crowd();
    const ids = async (filter: Parameters<Store["list"]>[0]): Promise<readonly string[]> =>
      (await store.list(filter)).map(({ sessionId }) => sessionId);
    expect(await ids({})).toEqual(newestFirst(MANY));
    expect(await ids({ limit: 2_000 })).toEqual(newestFirst(2_000));
    expect(await ids({ limit: 1_001, before: "ses_2200" })).toEqual(newestFirst(1_001, 2_200));
    expect(await ids({ limit: 0 })).toEqual([]);
    expect(await turns(store.list({}))).toBeGreaterThan(2);
  });

  it("DUR-10 fires the timers of all of them, each once, in pieces that let other work through", async () => {
    const store = await crowd();
    expect(await turns(store.fireTimers(11))).toBeGreaterThan(3);
    expect(await store.fireTimers(11)).toBe(12);
    expect(await store.fireTimers(12)).toBeUndefined();
    const mail = await Promise.all(newestFirst(MANY).map((sessionId) => store.mail(sessionId)));
    expect(mail.map((entries) => entries.length)).toEqual(newestFirst(MANY).map(() => 1));
  });
});

/** Locks that this process has on the file, as the kernel knows them. */
function locksOf(path: string): number {
  const { ino } = fs.statSync(path);
  const lines = fs.readFileSync("/proc/locks", "utf8").split("\n");
  return lines.filter((line) => line.includes(` ${process.pid} `) && line.includes(`:${ino} `)).length;
}

async function withSession(path: string, sessionId: string): Promise<void> {
  const store = await sqliteStore({ path });
  await store.create(session(sessionId, 3));
  await store.close();
}

async function open(path: string): Promise<Store> {
  const store = await sqliteStore({ path });
  onTestFinished(() => store.close());
  return store;
}

function session(sessionId: string, count = 1): NewSession {
  const usage = { inputTokens: 0, outputTokens: 0 };
  const common = { sessionId, agent: "guide", createdAt: 0, updatedAt: 0, head: count };
  const facts = Array.from({ length: count }, (_, index) => fact(index + 1));
  return { sessionId, facts, summary: { ...common, status: "idle", queued: 0, openRequests: [], usage } };
}

function fact(seq: number): Fact {
  return { type: "plugin.fact", key: `k${seq}`, seq, at: seq, plugin: "p", name: "n", data: seq } as unknown as Fact;
}

function folder(): string {
  const made = fs.mkdtempSync(join(tmpdir(), "capstan-files-"));
  onTestFinished(() => fs.rmSync(made, { recursive: true, force: true }));
  return made;
}
