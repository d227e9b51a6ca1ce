import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { compactAnchors, readAnchors, writeAnchors, type Anchor } from "./anchor.ts";

const one: Anchor = { sessionId: "ses_1", number: 1, head: 5 };

describe("writeAnchors", () => {
  it("adds heads that readAnchors gives back, whatever the ids", async () => {
    const path = temporaryPath();
    const odd: Anchor = { sessionId: 'a\n"\ud800', number: 2, head: 7 };
    await writeAnchors(path, [one, odd]);
    await writeAnchors(path, [{ ...one, head: 9 }]);
    expect([...readAnchors(path).values()]).toEqual([{ ...one, head: 9 }, odd]);
  });

  it("counts the highest head, and a removal for ever", async () => {
    const path = temporaryPath();
    for (const head of [9, 5, 0, 12]) await writeAnchors(path, [{ ...one, head }]);
    await writeAnchors(path, [{ ...one, number: 2 }]);
    expect([...readAnchors(path).values()]).toEqual([
      { ...one, head: 0 },
      { ...one, number: 2 },
    ]);
  });
});

describe("readAnchors", () => {
  it("knows nothing when there is no file", () => {
    expect(readAnchors(temporaryPath()).size).toBe(0);
  });

  it("leaves out lines that are torn or altered, and reads those after them", async () => {
    const path = temporaryPath();
    await writeAnchors(path, [one]);
    fs.appendFileSync(path, '1234abcd {"sessionId":"ses_9","number":9,"head":9}\n9a');
    await writeAnchors(path, [{ ...one, number: 2 }]);
    expect([...readAnchors(path).values()].map(({ number }) => number)).toEqual([1, 2]);
  });
});

describe("compactAnchors", () => {
  it("writes the file anew when most lines are outdated, without removed sessions", async () => {
    const path = temporaryPath();
    const heads = Array.from({ length: 5_000 }, (_, head): Anchor => ({ ...one, head: head + 1 }));
    const gone: Anchor = { sessionId: "ses_2", number: 2, head: 0 };
    await writeAnchors(path, [...heads, gone]);
    const before = fs.statSync(path).size;
    compactAnchors(path);
    expect([...readAnchors(path).values()]).toEqual([{ ...one, head: 5_000 }]);
    expect(fs.statSync(path).size).toBeLessThan(before / 100);
    expect(fs.statSync(path).mode & 0o777).toBe(0o600);
  });

  it("leaves a file alone that has few outdated lines", async () => {
    const path = temporaryPath();
    await writeAnchors(path, [one, { ...one, head: 6 }]);
    const before = fs.readFileSync(path, "utf8");
    compactAnchors(path);
    expect(fs.readFileSync(path, "utf8")).toBe(before);
  });
});

function temporaryPath(): string {
  const folder = fs.mkdtempSync(join(tmpdir(), "capstan-anchor-"));
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }));
  return join(folder, "store.db.anchor");
}
