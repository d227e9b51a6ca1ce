import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CapstanError, sha256 } from "@capstan/core";
import { describe, expect, it, onTestFinished } from "vitest";
import { type TemporaryWorkspace, temporaryWorkspace } from "../temporary-workspace.ts";
import { portableDescriptors, procDescriptors, type Descriptors } from "./open-inside.ts";
import { removeFile } from "./remove-file.ts";

async function folder(): Promise<TemporaryWorkspace> {
  const at = await temporaryWorkspace();
  onTestFinished(() => at.close());
  return at;
}

const KINDS: readonly (readonly [string, Descriptors])[] = [
  ...(process.platform === "linux" ? [["proc", procDescriptors] as const] : []),
  ["portable", portableDescriptors],
];

describe.each(KINDS)("removeFile with %s descriptors", (_name, descriptors) => {
  const remove = (at: TemporaryWorkspace, path: string, content: string): Promise<unknown> =>
    removeFile(descriptors, { path: at.root, alias: at.root }, path, { expected: sha256(content) }).catch(
      (error: unknown) => (CapstanError.is(error) ? error.code : error),
    );

  it("SESS-16 removes the file that holds what was seen, and leaves its other names", async () => {
    const at = await folder();
    at.write("a/b.txt", "text");
    linkSync(join(at.root, "a/b.txt"), join(at.folder, "other.txt"));
    expect(await remove(at, "a/b.txt", "other")).toBe("file-changed");
    expect(await remove(at, "a/b.txt", "text")).toBeUndefined();
    expect(readdirSync(join(at.root, "a"))).toEqual([]);
    expect(readFileSync(join(at.folder, "other.txt"), "utf8")).toBe("text");
    expect(await remove(at, "a/b.txt", "text")).toBe("path-not-found");
  });

  it("SESS-16 removes nothing through a link, outside the root, or of another kind", async () => {
    const at = await folder();
    at.write("real.txt", "text");
    symlinkSync("real.txt", join(at.root, "link.txt"));
    symlinkSync(join(at.folder, "work-evil"), join(at.root, "evil"));
    mkdirSync(join(at.root, "sub"));
    writeFileSync(join(at.root, "sub/x"), "");
    expect(await remove(at, "link.txt", "text")).toBe("path-invalid");
    expect(await remove(at, "evil/secret.txt", "secret")).toBe("path-outside");
    expect(await remove(at, "../work-evil/secret.txt", "secret")).toBe("path-outside");
    expect(await remove(at, "sub", "")).toBe("path-special");
    expect(await remove(at, "sub/../real.txt", "other")).toBe("file-changed");
    expect(existsSync(join(at.folder, "work-evil/secret.txt"))).toBe(true);
    expect(readdirSync(at.root).toSorted()).toEqual(["evil", "link.txt", "real.txt", "sub"]);
  });
});
