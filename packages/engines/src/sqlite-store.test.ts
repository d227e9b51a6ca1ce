import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sha256, systemClock } from "@capstan/core";
import type { Append, Clock, ErrorCode, Fact, SessionSummary, Store } from "@capstan/core";
import { storeContract } from "@capstan/core/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { openDatabase, type Database } from "./sqlite/database.ts";
import { openSqliteStore, type StoreOptions } from "./sqlite/store.ts";
import { sqliteStore } from "./sqlite-store.ts";

describe("sqliteStore", () => {
  for (const durability of ["full", "relaxed"] as const) {
    describe(`contract, ${durability}`, () => {
      for (const { name, run } of storeContract(() => contractFixture(durability))) it(`SESS-03 EDGE-13 ${name}`, run);
    });
  }

  describe("files", () => {
    it("makes folder and files private to the user", async () => {
      const path = join(temporaryFolder(), "a", "b", "store.db");
      const store = await sqliteStore({ path });
      await create(store, "ses_1");
      await finishRun(store, "ses_1");
      const modes = (file: string): number => fs.statSync(file).mode & 0o777;
      expect([modes(dirname(path)), modes(dirname(dirname(path)))]).toEqual([0o700, 0o700]);
      for (const suffix of ["", "-wal", "-shm"]) expect(modes(path + suffix)).toBe(0o600);
      await store.close();
      expect(modes(`${path}.anchor`)).toBe(0o600);
      expect(fs.readdirSync(dirname(path)).toSorted()).toEqual(["store.db", "store.db.anchor"]);
    });

    it("G9 EDGE-14 refuses a newer store and leaves every byte as it was", async () => {
      const path = await storeWith(async (store) => create(store, "ses_1"));
      change(path, "PRAGMA user_version = 3");
      const before = bytesOf(path);
      await rejects(sqliteStore({ path }), "store-newer");
      expect(bytesOf(path)).toEqual(before);
    });

    it("G9 EDGE-14 refuses a newer store whose version is only in the log yet", async () => {
      const live = await storeWith(async (store) => create(store, "ses_1"));
      const db = new DatabaseSync(live);
      db.exec("PRAGMA journal_mode = WAL; PRAGMA user_version = 7");
      const path = join(temporaryFolder(), "store.db");
      for (const suffix of ["", "-wal", "-shm"]) fs.copyFileSync(live + suffix, path + suffix);
      db.close();
      const before = bytesOf(path);
      await rejects(sqliteStore({ path }), "store-newer");
      expect(bytesOf(path)).toEqual(before);
    });

    it("refuses a file of another program and leaves it as it was", async () => {
      const path = join(temporaryFolder(), "other.db");
      change(path, "CREATE TABLE t (x); INSERT INTO t VALUES (1)");
      const before = bytesOf(path);
      await rejects(sqliteStore({ path }), "store-damaged");
      change(path, "PRAGMA application_id = 77; PRAGMA user_version = 1");
      await rejects(sqliteStore({ path }), "store-damaged");
      change(path, "PRAGMA application_id = 0; PRAGMA user_version = 0");
      expect(Object.keys(bytesOf(path))).toEqual(Object.keys(before));
    });

    it("G7 takes an empty file for a new store, but not when there was one before", async () => {
      const path = join(temporaryFolder(), "store.db");
      fs.writeFileSync(path, "");
      const store = await sqliteStore({ path });
      await create(store, "ses_1");
      await finishRun(store, "ses_1");
      await store.close();
      for (const lose of [() => fs.truncateSync(path), () => fs.rmSync(path)]) {
        lose();
        await rejects(sqliteStore({ path }), "store-damaged");
      }
      fs.rmSync(`${path}.anchor`);
      await (await sqliteStore({ path })).close();
    });

    it("G7 refuses garbage, a cut file and overwritten pages as damaged", async () => {
      const path = await storeWith(async (store) => {
        await create(store, "ses_1");
        await append(store, "ses_1", facts(2, 60, "x".repeat(2_000)));
      });
      const whole = fs.readFileSync(path);
      fs.writeFileSync(path, "this is not a database, whatever its name says".repeat(10));
      await rejects(sqliteStore({ path }), "store-damaged");
      fs.writeFileSync(path, whole.subarray(0, 50));
      await rejects(sqliteStore({ path }), "store-damaged");
      fs.writeFileSync(path, whole.subarray(0, 4096 * 6));
      await rejects(sqliteStore({ path }), "store-damaged");
      fs.writeFileSync(path, Buffer.from(whole).fill(0xa5, 4096 * 2, 4096 * 5));
      await rejects(sqliteStore({ path }), "store-damaged");
      fs.writeFileSync(path, whole);
      const store = await sqliteStore({ path });
      expect((await store.read("ses_1", { after: 0 })).length).toBe(61);
      await store.close();
    });

    it("says in one line what cannot be written", async () => {
      const path = join(temporaryFolder(), "file", "store.db");
      fs.writeFileSync(dirname(path), "");
      await expect(sqliteStore({ path })).rejects.toMatchObject({
        code: "store-readonly",
        message: expect.stringMatching(new RegExp(`^[^\\n]*${path}[^\\n]*$`)),
      });
      await rejects(sqliteStore({ path: temporaryFolder() }), "store-readonly");
    });

    const LOSSES: { readonly [what: string]: (path: string) => void } = {
      "is deleted": (path) => fs.rmSync(path),
      "is deleted with all that belongs to it": (path) => {
        for (const suffix of ["", "-wal", "-shm"]) fs.rmSync(path + suffix, { force: true });
      },
      "is deleted with its folder": (path) => fs.rmSync(dirname(path), { recursive: true }),
      "loses its log": (path) => fs.rmSync(`${path}-wal`),
      "is moved away": (path) => fs.renameSync(path, `${path}.moved`),
      "is replaced": (path) => {
        fs.copyFileSync(path, `${path}.copy`);
        fs.renameSync(`${path}.copy`, path);
      },
      "is emptied": (path) => fs.truncateSync(path),
    };
    for (const [what, lose] of Object.entries(LOSSES)) {
      it(`G1 G7 acknowledges nothing into a file that ${what} while it is open`, async () => {
        const path = join(temporaryFolder(), "folder", "store.db");
        const store = await open({ path });
        await create(store, "ses_1");
        await submit(store, "ses_1", "before");
        lose(path);
        await rejects(submit(store, "ses_1", "after"), "store-damaged");
      });
    }

    it("G7 does not make a new store where an open one vanished", async () => {
      const disk = faultyDisk();
      const path = join(temporaryFolder(), "store.db");
      const store = await open({ path, connect: disk.connect });
      await create(store, "ses_1");
      disk.fail("COMMIT", 10);
      await rejects(append(store, "ses_1", facts(2, 1)), "store-failed");
      for (const suffix of ["", "-wal", "-shm"]) fs.rmSync(path + suffix, { force: true });
      await rejects(append(store, "ses_1", facts(2, 1)), "store-damaged");
      expect(fs.existsSync(path)).toBe(false);
    });
  });

  describe("damage", () => {
    it("G7 puts a session with an altered fact into quarantine and leaves the others alone", async () => {
      const path = await twoSessions();
      change(path, "UPDATE facts SET body = replace(body, 'x5', 'y5') WHERE id = 67108864 + 5");
      const store = await open({ path });
      await rejects(store.read("ses_1", { after: 0 }), "session-damaged");
      await rejects(store.read("ses_1", { after: 0, types: ["run.finished"] }), "session-damaged");
      expect((await store.summary("ses_1"))?.status).toBe("quarantined");
      expect((await store.list({ status: "quarantined" })).map(({ sessionId }) => sessionId)).toEqual(["ses_1"]);
      await rejects(store.claim("ses_1", "owner-b"), "session-damaged");
      await rejects(submit(store, "ses_1", "b"), "session-damaged");
      expect((await store.read("ses_1", { after: 0, through: 4 })).length).toBe(4);
      expect((await store.read("ses_1", { after: 5 })).length).toBe(4);
      expect((await store.read("ses_2", { after: 0 })).length).toBe(9);
      await append(store, "ses_2", facts(10, 1));
      await store.remove("ses_1");
      expect(await store.summary("ses_1")).toBeUndefined();
    });

    it("G7 refuses the append of a holder whose session turned out to be damaged", async () => {
      const path = await twoSessions();
      const store = await open({ path });
      const claim = await store.claim("ses_1", "owner-a");
      change(path, "DELETE FROM facts WHERE id = 67108864 + 4");
      await rejects(store.read("ses_1", { after: 2 }), "session-damaged");
      const write = { sessionId: "ses_1", epoch: claim?.epoch ?? 0, facts: facts(10, 1) };
      await rejects(store.append(write, { sync: true }), "session-damaged");
      expect((await store.pending()).length).toBe(0);
    });

    it.each([
      [
        "a byte of the body",
        "UPDATE facts SET body = substr(body, 1, 20) || '!' || substr(body, 22) WHERE id = 67108864 + 4",
      ],
      [
        "a body of another",
        "UPDATE facts SET body = (SELECT body FROM facts WHERE id = 67108864 + 5) WHERE id = 67108864 + 4",
      ],
      ["the checksum", "UPDATE facts SET checksum = checksum + 1 WHERE id = 67108864 + 4"],
      ["the number", "UPDATE facts SET id = id + 1000 WHERE id = 67108864 + 4"],
      ["a missing row", "DELETE FROM facts WHERE id = 67108864 + 4"],
      ["a missing last row", "DELETE FROM facts WHERE id = 67108864 + 9"],
      ["a changed head", "UPDATE sessions SET head = 12 WHERE number = 1"],
    ])("G7 notices %s of a fact", async (_name, sql) => {
      const path = await twoSessions();
      change(path, sql);
      const store = await open({ path });
      await rejects(store.read("ses_1", { after: 0 }), "session-damaged");
      expect((await store.read("ses_2", { after: 0 })).length).toBe(9);
    });

    it("G7 notices a byte that changed in the file", async () => {
      const path = await twoSessions();
      const bytes = fs.readFileSync(path);
      const at = bytes.lastIndexOf("x7x7x7x7x7x7x7x7");
      expect(at).toBeGreaterThan(0);
      bytes.write("x8", at, "latin1");
      fs.writeFileSync(path, bytes);
      const store = await open({ path });
      await rejects(store.read("ses_1", { after: 0 }), "session-damaged");
      expect((await store.summary("ses_1"))?.status).toBe("quarantined");
    });

    it.each([
      ["a missing last fact", "DELETE FROM facts WHERE id = 67108864 + 9"],
      ["a head that is too low", "UPDATE sessions SET head = 5 WHERE number = 1"],
    ])("G7 does not give a session with %s to an owner", async (_name, sql) => {
      const path = await twoSessions();
      change(path, sql);
      const store = await open({ path });
      await rejects(store.claim("ses_1", "owner-b"), "session-damaged");
      expect(await store.claim("ses_2", "owner-b", "owner-a")).toMatchObject({ head: 9 });
    });

    it("G7 notices altered mail", async () => {
      const path = await storeWith(async (store) => {
        await create(store, "ses_1");
        await submit(store, "ses_1", "a");
      });
      change(path, "UPDATE mail SET entry = replace(entry, 'ada', 'eve')");
      const store = await open({ path });
      await rejects(store.mail("ses_1"), "session-damaged");
      expect((await store.summary("ses_1"))?.status).toBe("quarantined");
      expect(await submit(store, "ses_1", "a")).toEqual({ sessionId: "ses_1", inputId: "in_a" });
    });

    it("lists a session whose summary was altered, in quarantine", async () => {
      const path = await twoSessions();
      change(path, "UPDATE sessions SET summary = '{' WHERE number = 1");
      const store = await open({ path });
      const statuses = (await store.list({})).map(({ sessionId, status }) => [sessionId, status]);
      expect(statuses).toEqual([
        ["ses_2", "idle"],
        ["ses_1", "quarantined"],
      ]);
    });

    for (const [what, sql] of Object.entries({
      "its summary": "summary = replace(summary, 'helper', 'hemper')",
      "what is checked of its summary": "summary = replace(summary, '\"check\":', '\"check\":1')",
      "its status": "status = 'idme'",
      "its agent": "agent = 'hemper'",
    }))
      it(`G7 gives no session away of which ${what} was altered`, async () => {
        const path = await twoSessions();
        change(path, `UPDATE sessions SET ${sql} WHERE number = 1`);
        const store = await open({ path });
        expect((await store.summary("ses_1"))?.status).toBe("quarantined");
        await rejects(store.claim("ses_1", "owner-b"), "session-damaged");
        await rejects(submit(store, "ses_1", "b"), "session-damaged");
        expect((await store.read("ses_1", { after: 0 })).length).toBe(9);
        expect((await store.summary("ses_2"))?.status).toBe("idle");
      });

    it("reads a summary that was stored without a checksum", async () => {
      const path = await twoSessions();
      change(path, `UPDATE sessions SET summary = substr(summary, 1, instr(summary, ',"check":') - 1) || '}'`);
      const store = await open({ path });
      expect((await store.summary("ses_1"))?.status).toBe("idle");
    });

    it("drops an altered snapshot and refuses an altered blob", async () => {
      const hash = sha256("blob");
      const path = await storeWith(async (store) => {
        await create(store, "ses_1");
        await append(store, "ses_1", [], { snapshot: { seq: 1, version: 1, data: { a: 1 } } });
        await store.putBlob(hash, new TextEncoder().encode("blob"));
      });
      change(path, `UPDATE snapshots SET data = '{"a":2}'; UPDATE blobs SET bytes = x'00'`);
      const store = await open({ path });
      expect(await store.snapshot("ses_1")).toBeUndefined();
      await rejects(store.blob(hash), "store-damaged");
    });

    it("EDGE-03 opens a session without touching the facts before its snapshot", async () => {
      const path = await storeWith(async (store) => {
        await create(store, "ses_1");
        await append(store, "ses_1", facts(2, 89));
        await append(store, "ses_1", facts(91, 10), { snapshot: { seq: 90, version: 1, data: {} } });
      });
      change(path, "UPDATE facts SET body = 'gone', checksum = 0 WHERE id % 67108864 <= 90");
      const store = await open({ path });
      expect(await store.claim("ses_1", "owner-b", "owner-a")).toMatchObject({ head: 100 });
      const after = (await store.snapshot("ses_1"))?.seq ?? 0;
      expect((await store.read("ses_1", { after })).length).toBe(10);
    });
  });

  describe("anchor", () => {
    it("G7 puts a session whose tail was lost into quarantine, readable as far as it goes", async () => {
      const path = await twoSessions();
      const older = fs.readFileSync(path);
      const first = await open({ path });
      await append(first, "ses_1", facts(10, 3));
      await finishRun(first, "ses_1");
      await create(first, "ses_3");
      await finishRun(first, "ses_3");
      await first.close();
      fs.writeFileSync(path, older);
      for (const _round of [1, 2]) {
        const store = await sqliteStore({ path });
        expect((await store.list({ status: "quarantined" })).map(({ sessionId }) => sessionId)).toEqual([
          "ses_3",
          "ses_1",
        ]);
        expect((await store.read("ses_1", { after: 0 })).length).toBe(9);
        await rejects(store.read("ses_3", { after: 0 }), "session-damaged");
        await rejects(store.claim("ses_1", "owner-b"), "session-damaged");
        await rejects(submit(store, "ses_3", "z"), "session-damaged");
        expect(await store.claim("ses_2", "owner-b", "owner-a")).toBeDefined();
        await store.release("ses_2", (await store.claim("ses_2", "owner-b"))?.epoch ?? 0);
        await store.close();
      }
    });

    it("G7 anchors without a run's end too: at close, and some seconds after a write", async () => {
      const path = join(temporaryFolder(), "store.db");
      const due = Promise.withResolvers<() => void>();
      const clock: Clock = {
        ...systemClock,
        after(ms, fire, options) {
          if (ms !== 5_000) return systemClock.after(ms, fire, options);
          due.resolve(fire);
          return () => {};
        },
      };
      const store = await sqliteStore({ path, clock, durability: "relaxed" });
      await create(store, "ses_1");
      await append(store, "ses_1", facts(2, 3));
      (await due.promise)();
      await untilAnchored(path, 4);
      await append(store, "ses_1", facts(5, 1));
      await store.close();
      await untilAnchored(path, 5);
    });

    it("takes a removed session for removed, also when its id is used again", async () => {
      const path = await twoSessions();
      const store = await open({ path });
      await finishRun(store, "ses_1");
      await store.remove("ses_1");
      await store.close();
      const second = await open({ path });
      expect((await second.list({})).map(({ sessionId, status }) => [sessionId, status])).toEqual([["ses_2", "idle"]]);
      await create(second, "ses_1");
      await second.close();
      const third = await open({ path });
      expect((await third.summary("ses_1"))?.status).toBe("idle");
    });

    it("survives a torn or altered anchor file", async () => {
      const path = await twoSessions();
      fs.appendFileSync(`${path}.anchor`, '\n00000000 {"sessionId":"ses_9","number":9,"head":4}\n12ab {"ses');
      const store = await open({ path });
      expect(await store.list({ status: "quarantined" })).toEqual([]);
      await finishRun(store, "ses_2");
      await untilAnchored(path, 10);
    });
  });

  describe("failure", () => {
    it("G8 tells of a full disk, keeps what was there, and goes on when there is room", async () => {
      const disk = faultyDisk();
      const path = join(temporaryFolder(), "store.db");
      const store = await open({ path, connect: disk.connect });
      await create(store, "ses_1");
      disk.maxPages = pagesOf(path) + 8;
      await append(store, "ses_1", facts(2, 1));
      const { epoch } = (await store.claim("ses_1", "owner-a")) ?? { epoch: 0 };
      const write = { sessionId: "ses_1", epoch, facts: facts(3, 20, "x".repeat(20_000)) };
      const asked = [store.append(write, { sync: true }), submit(store, "ses_1", "a"), store.mail("ses_1")];
      const codes = (await Promise.allSettled(asked)).map(
        (result) => result.status === "rejected" && codeOf(result.reason),
      );
      expect(codes).toEqual(["store-full", "store-full", "store-full"]);
      expect((await store.read("ses_1", { after: 0 })).length).toBe(2);
      expect(await store.mail("ses_1")).toEqual([]);
      await rejects(store.append(write, { sync: true }), "store-full");
      await submit(store, "ses_1", "small");
      disk.maxPages = undefined;
      await store.append(write, { sync: true });
      expect((await store.read("ses_1", { after: 0 })).length).toBe(22);
    });

    it("G8 acknowledges nothing when the commit fails, and does not use that connection again", async () => {
      const disk = faultyDisk();
      const store = await open({ path: join(temporaryFolder(), "store.db"), connect: disk.connect });
      await create(store, "ses_1");
      const { epoch } = (await store.claim("ses_1", "owner-a")) ?? { epoch: 0 };
      disk.fail("COMMIT", 10);
      const results = await Promise.allSettled([
        store.append({ sessionId: "ses_1", epoch, facts: facts(2, 1) }, { sync: true }),
        submit(store, "ses_1", "a"),
        store.append({ sessionId: "ses_1", epoch: epoch + 5, facts: facts(3, 1) }, { sync: true }),
      ]);
      expect(results.map((result) => result.status === "rejected" && codeOf(result.reason))).toEqual([
        "store-failed",
        "store-failed",
        "store-failed",
      ]);
      expect(disk.opened).toBe(1);
      expect((await store.read("ses_1", { after: 0 })).length).toBe(1);
      expect(disk.opened).toBe(2);
      expect(await store.mail("ses_1")).toEqual([]);
      await store.append({ sessionId: "ses_1", epoch, facts: facts(2, 1) }, { sync: true });
      expect((await store.read("ses_1", { after: 0 })).length).toBe(2);
    });

    it.each([
      ["an I/O error", 10, "store-failed", true],
      ["a full disk", 13, "store-full", true],
      ["a read-only disk", 8, "store-readonly", false],
      ["a disk that cannot be opened", 14, "store-readonly", false],
      ["a damaged page", 11, "store-damaged", false],
    ] as const)("G8 tells of %s while writing a fact", async (_name, errcode, code, retryable) => {
      const disk = faultyDisk();
      const store = await open({ path: join(temporaryFolder(), "store.db"), connect: disk.connect });
      await create(store, "ses_1");
      const claim = await store.claim("ses_1", "owner-a");
      disk.fail("INSERT INTO facts", errcode);
      const write = { sessionId: "ses_1", epoch: claim?.epoch ?? 0, facts: facts(2, 1) };
      await expect(store.append(write, { sync: false })).rejects.toMatchObject({ code, retryable });
      await store.append(write, { sync: false });
      expect((await store.read("ses_1", { after: 0 })).length).toBe(2);
    });

    it("waits for a lock of another process without blocking the thread", async () => {
      const path = join(temporaryFolder(), "store.db");
      const store = await open({ path });
      await create(store, "ses_1");
      const other = new DatabaseSync(path);
      other.exec("BEGIN IMMEDIATE");
      const sent = submit(store, "ses_1", "a");
      let turns = 0;
      while (turns < 20) {
        await new Promise((resolve) => setImmediate(resolve));
        turns += 1;
      }
      expect(await Promise.race([sent, Promise.resolve("waiting")])).toBe("waiting");
      other.exec("ROLLBACK");
      other.close();
      await sent;
      expect((await store.mail("ses_1")).length).toBe(1);
    });

    it("G8 gives up on a lock that another process keeps, and can be asked again", async () => {
      const path = join(temporaryFolder(), "store.db");
      let now = 0;
      const clock: Clock = { ...systemClock, monotonic: () => (now += 1_000) };
      const store = await open({ path, clock });
      await create(store, "ses_1");
      const other = new DatabaseSync(path);
      other.exec("BEGIN IMMEDIATE");
      await expect(submit(store, "ses_1", "a")).rejects.toMatchObject({ code: "store-failed", retryable: true });
      other.exec("ROLLBACK");
      other.close();
      await submit(store, "ses_1", "a");
    });

    it("does what was asked before close, and nothing after", async () => {
      const path = join(temporaryFolder(), "store.db");
      const store = await sqliteStore({ path });
      const made = create(store, "ses_1");
      const closing = store.close();
      await rejects(create(store, "ses_2"), "closed");
      await made;
      await closing;
      await rejects(store.list({}), "closed");
      const again = await open({ path });
      expect((await again.list({})).map(({ sessionId }) => sessionId)).toEqual(["ses_1"]);
    });

    it("DUR-08 shows the owners of a closed store as dead", async () => {
      const path = join(temporaryFolder(), "store.db");
      const first = await sqliteStore({ path });
      await first.register("owner-a");
      await create(first, "ses_1");
      await first.claim("ses_1", "owner-a");
      const second = await open({ path });
      expect((await second.owners()).map(({ owner, alive }) => [owner, alive])).toEqual([["owner-a", true]]);
      await first.close();
      expect(await second.owners()).toEqual([{ owner: "owner-a", beat: 0, alive: false }]);
      expect(await second.claim("ses_1", "owner-b", "owner-a")).toBeDefined();
      expect(await second.owners()).toEqual([{ owner: "owner-b", beat: 0, alive: false }]);
    });
  });
});

const ACTOR = { id: "ada", door: "test" };

/** A connection that fails once at a statement, and has room for `maxPages`. */
function faultyDisk() {
  let fault: { readonly sql: string; readonly errcode: number } | undefined;
  const disk = {
    opened: 0,
    maxPages: undefined as number | undefined,
    fail: (sql: string, errcode: number) => void (fault = { sql, errcode }),
    connect: (path: string, options: { readonly busyMs: number }): Database => {
      const db = openDatabase(path, options);
      disk.opened += 1;
      return {
        ...db,
        get inTransaction() {
          return db.inTransaction;
        },
        run(sql, ...values) {
          if (sql === "BEGIN IMMEDIATE") db.exec(`PRAGMA max_page_count = ${disk.maxPages ?? 1_000_000}`);
          if (fault !== undefined && sql.startsWith(fault.sql)) {
            const { errcode } = fault;
            fault = undefined;
            throw Object.assign(new Error("made to fail"), { errcode });
          }
          return db.run(sql, ...values);
        },
      };
    },
  };
  return disk;
}

async function contractFixture(durability: "full" | "relaxed") {
  const path = join(temporaryFolder(), "deep", "store.db");
  const opened: Store[] = [];
  const openAgain = async (): Promise<Store> => {
    const store = await sqliteStore({ path, durability });
    opened.push(store);
    return store;
  };
  const store = await openAgain();
  return {
    store,
    other: openAgain,
    async reopen() {
      await store.close();
      return openAgain();
    },
    async close() {
      for (const one of opened) await one.close();
    },
  };
}

function temporaryFolder(): string {
  const folder = fs.mkdtempSync(join(tmpdir(), "capstan-store-"));
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function open(options: StoreOptions): Promise<Store> {
  const store = await openSqliteStore(options);
  onTestFinished(() => store.close().catch(() => {}));
  return store;
}

/** The path of a closed store that was filled so. */
async function storeWith(fill: (store: Store) => Promise<unknown>): Promise<string> {
  const path = join(temporaryFolder(), "store.db");
  const store = await sqliteStore({ path });
  await fill(store);
  await store.close();
  return path;
}

/** `ses_1` and `ses_2` with nine facts each. */
function twoSessions(): Promise<string> {
  return storeWith(async (store) => {
    for (const id of ["ses_1", "ses_2"]) {
      await create(store, id);
      for (const fact of facts(2, 8)) await append(store, id, [fact]); // a row each
    }
  });
}

async function create(store: Store, sessionId: string): Promise<void> {
  const created: Fact = {
    type: "session.created",
    key: "session",
    seq: 1,
    at: 1,
    sessionId,
    agent: "helper",
    mode: "ask",
    actor: ACTOR,
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

function facts(from: number, count: number, text?: string): readonly Fact[] {
  return Array.from({ length: count }, (_, index): Fact => {
    const seq = from + index;
    return { type: "data", name: "note", data: text ?? `x${seq}`.repeat(8), key: `data/${seq}`, seq, at: seq };
  });
}

async function append(
  store: Store,
  sessionId: string,
  added: readonly Fact[],
  more: Partial<Append> = {},
): Promise<void> {
  const claim = await store.claim(sessionId, "owner-a");
  const epoch = claim?.epoch ?? 0;
  await store.append({ sessionId, epoch, facts: added, ...more }, { sync: true });
  await store.release(sessionId, epoch);
}

async function finishRun(store: Store, sessionId: string): Promise<void> {
  const claim = await store.claim(sessionId, "owner-a");
  const seq = (claim?.head ?? 0) + 1;
  const usage = { inputTokens: 0, outputTokens: 0 };
  await append(store, sessionId, [
    { type: "run.finished", reason: "end-turn", usage, turns: 1, key: `end/${seq}`, seq, at: seq, runId: "run_1" },
  ]);
}

function submit(store: Store, sessionId: string, key: string) {
  const op = { type: "withdraw", sessionId, inputId: "in_0" } as const;
  const accepted = { sessionId, inputId: `in_${key}` };
  return store.submit({ sessionId, key, digest: "d", actor: ACTOR, body: { type: "op", op, accepted }, accepted });
}

function change(path: string, sql: string): void {
  const db = new DatabaseSync(path);
  db.exec(sql);
  db.close();
}

function bytesOf(path: string): { readonly [name: string]: string } {
  const names = fs.readdirSync(dirname(path)).filter((name) => name.startsWith(basename(path)));
  return Object.fromEntries(names.map((name) => [name, sha256(fs.readFileSync(join(dirname(path), name)))]));
}

function pagesOf(path: string): number {
  const db = new DatabaseSync(path);
  const row = db.prepare("PRAGMA page_count").get();
  db.close();
  return Number(row?.["page_count"]);
}

async function untilAnchored(path: string, head: number): Promise<void> {
  const found = (): boolean =>
    fs.existsSync(`${path}.anchor`) && fs.readFileSync(`${path}.anchor`, "utf8").includes(`"head":${head}}`);
  while (!found()) await new Promise((resolve) => setImmediate(resolve));
}

async function rejects(promise: Promise<unknown>, code: ErrorCode): Promise<void> {
  await expect(promise).rejects.toMatchObject({ code });
}

function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown }).code;
}
