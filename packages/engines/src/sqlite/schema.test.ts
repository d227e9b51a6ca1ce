import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openDatabase, type Database } from "./database.ts";
import { migrate, type Migration } from "./schema.ts";

describe("migrate", () => {
  it("G9 EDGE-14 backs up, then brings an older store up in one transaction", () => {
    const { db, path } = store();
    const steps: readonly Migration[] = [
      (one) => one.exec("ALTER TABLE t ADD COLUMN y"),
      (one) => one.exec("UPDATE t SET y = x + 1"),
    ];
    migrate(db, path, steps);
    expect(contentOf(db)).toEqual({ version: 4, rows: [{ x: 1, y: 2 }] });
    const backup = openDatabase(`${path}.v2.backup`, { busyMs: 0 });
    expect(contentOf(backup)).toEqual({ version: 2, rows: [{ x: 1 }] });
    backup.close();
    migrate(db, path, steps);
    expect(contentOf(db).version).toBe(4);
  });

  it("G9 changes nothing when a step fails", () => {
    const { db, path } = store();
    const failing: Migration = (one) => {
      one.exec("UPDATE t SET x = 5");
      throw new Error("step failed");
    };
    expect(() => migrate(db, path, [failing])).toThrow("step failed");
    expect(contentOf(db)).toEqual({ version: 2, rows: [{ x: 1 }] });
  });
});

function store(): { readonly db: Database; readonly path: string } {
  const folder = fs.mkdtempSync(join(tmpdir(), "capstan-schema-"));
  const path = join(folder, "it's.db");
  const db = openDatabase(path, { busyMs: 0 });
  onTestFinished(() => {
    db.close();
    fs.rmSync(folder, { recursive: true });
  });
  db.exec("CREATE TABLE t (x); INSERT INTO t VALUES (1); PRAGMA user_version = 2");
  return { db, path };
}

function contentOf(db: Database) {
  const rows = db.all<object>("SELECT * FROM t").map((row) => ({ ...row }));
  return { version: db.get<{ readonly user_version: number }>("PRAGMA user_version")?.user_version, rows };
}
