import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CapstanError } from "@capstan/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { commandHome } from "./command-child.ts";
import { distrustFolder, settledTrust, trustedFolders, trustFolder, trustOf } from "./trust.ts";

let base = "";
let folder = "";
let options = { dataFolder: "" };
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "capstan-trust-")));
  folder = join(base, "project");
  options = { dataFolder: join(base, "data") };
  mkdirSync(join(folder, ".capstan/hooks"), { recursive: true });
  mkdirSync(join(folder, ".claude"));
  write(".capstan/settings.json", "{}");
  write(".capstan/hooks/start.sh", "echo");
  write(".claude/settings.json", "{}");
  write("AGENTS.md", "Be kind.");
  write("src.ts", "code");
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function write(name: string, text: string): void {
  writeFileSync(join(folder, name), text);
}
const state = async (path = folder): Promise<string> => (await trustOf(path, options)).state;
const read = async (name: string): Promise<string | undefined> => {
  const bytes = await (await trustOf(folder, options)).read(name);
  return bytes === undefined ? undefined : Buffer.from(bytes).toString();
};
async function trustNow(): Promise<void> {
  await trustFolder(await trustOf(folder, options), options);
}

describe("trustOf", () => {
  it("SEC-06 trusts nothing by itself, and hands nothing out before", async () => {
    const trust = await trustOf(folder, options);
    expect([trust.state, trust.changed]).toEqual(["untrusted", []]);
    expect(trust.files).toEqual([
      ".capstan/hooks/start.sh",
      ".capstan/settings.json",
      ".claude/settings.json",
      "AGENTS.md",
    ]);
    expect(await trust.read("AGENTS.md")).toBeUndefined();
    expect(existsSync(options.dataFolder)).toBe(false);
  });

  it("SEC-06 hands out what was trusted, and no other file, by no other name", async () => {
    await trustNow();
    expect(await read("AGENTS.md")).toBe("Be kind.");
    expect(await read("./.capstan/../AGENTS.md")).toBe("Be kind.");
    for (const name of ["src.ts", "../data/trust", "/etc/passwd", ".capstan", "constructor"]) {
      expect(await read(name)).toBeUndefined();
    }
  });

  it.each([
    ["changed", () => write(".claude/settings.json", '{"hooks":{}}'), [".claude/settings.json"]],
    ["added", () => write(".mcp.json", "{}"), [".mcp.json"]],
    ["added deep below", () => write(".capstan/hooks/stop.sh", "rm"), [".capstan/hooks/stop.sh"]],
    ["removed", () => rmSync(join(folder, "AGENTS.md")), ["AGENTS.md"]],
    ["a configuration", () => write("capstan.config.ts", "export default {}"), ["capstan.config.ts"]],
  ])("SEC-06 asks again when a file is %s", async (_what, change, names) => {
    await trustNow();
    expect(await state()).toBe("trusted");
    write("src.ts", "other code");
    expect(await state()).toBe("trusted");
    change();
    const trust = await trustOf(folder, options);
    expect([trust.state, trust.changed]).toEqual(["changed", names]);
    expect(await trust.read(".capstan/settings.json")).toBeUndefined();
    await trustNow();
    expect(await state()).toBe("trusted");
  });

  it("SEC-06 binds to the real path: a link to the folder is the folder, a moved or copied one is not", async () => {
    await trustNow();
    const link = join(base, "link");
    symlinkSync(folder, link);
    expect(await state(link)).toBe("trusted");
    const moved = join(base, "moved");
    renameSync(folder, moved);
    expect(await state(moved)).toBe("untrusted");
    await expect(trustOf(link, options)).rejects.toSatisfy((error) => CapstanError.is(error, "workspace-missing"));
    mkdirSync(join(base, "other"));
    rmSync(link);
    symlinkSync(join(base, "other"), link);
    expect(await state(link)).toBe("untrusted");
  });

  it("SEC-06 covers what links lead to, and where they lead", async () => {
    const outside = join(base, "outside");
    mkdirSync(join(outside, "skills"), { recursive: true });
    writeFileSync(join(outside, "skills/a.md"), "one");
    writeFileSync(join(outside, "CLAUDE.md"), "one");
    symlinkSync(join(outside, "skills"), join(folder, ".agents"));
    symlinkSync(join(outside, "CLAUDE.md"), join(folder, "CLAUDE.md"));
    symlinkSync(folder, join(folder, ".capstan/back"));
    await trustNow();
    expect([await read(".agents/a.md"), await read("CLAUDE.md")]).toEqual(["one", "one"]);
    writeFileSync(join(outside, "skills/a.md"), "two");
    expect((await trustOf(folder, options)).changed).toEqual([".agents/a.md", ".capstan/back/.agents/a.md"]);
    writeFileSync(join(outside, "skills/a.md"), "one");
    expect(await state()).toBe("trusted");
    mkdirSync(join(base, "third"));
    writeFileSync(join(base, "third/a.md"), "one");
    rmSync(join(folder, ".agents"));
    symlinkSync(join(base, "third"), join(folder, ".agents"));
    expect(await state()).toBe("changed");
  });

  it("SEC-06 waits for no special file", async () => {
    execFileSync("mkfifo", [join(folder, ".mcp.json")]);
    await trustNow();
    expect(await state()).toBe("trusted");
    expect(await read(".mcp.json")).toBeUndefined();
  });

  it("SEC-06 hands out nothing that was changed after the look", async () => {
    await trustNow();
    const trust = await trustOf(folder, options);
    write("AGENTS.md", "Be evil.");
    expect(await trust.read("AGENTS.md")).toBeUndefined();
    write("AGENTS.md", "Be kind.");
    expect(await trust.read("AGENTS.md")).toBeDefined();
  });
});

describe("trustFolder", () => {
  it("SEC-06 refuses when the folder was changed between the look and the decision", async () => {
    const seen = await trustOf(folder, options);
    write("AGENTS.md", "Be evil.");
    await expect(trustFolder(seen, options)).rejects.toSatisfy((error) => CapstanError.is(error, "file-changed"));
    expect(await state()).toBe("untrusted");
  });

  it("SEC-06 refuses a folder that holds the decisions", async () => {
    const inner = { dataFolder: join(folder, "data") };
    await expect(trustFolder(await trustOf(folder, inner), inner)).rejects.toSatisfy((error) =>
      CapstanError.is(error, "usage"),
    );
  });

  it("SEC-06 believes no decision that a folder brings along itself", async () => {
    await trustNow();
    const own = { dataFolder: join(folder, "data") };
    cpSync(join(options.dataFolder, "trust"), join(own.dataFolder, "trust"), { recursive: true });
    chmodSync(own.dataFolder, 0o700);
    const trust = await trustOf(folder, own);
    expect([trust.state, await trust.read("AGENTS.md"), await state()]).toEqual(["untrusted", undefined, "trusted"]);
    symlinkSync(own.dataFolder, join(base, "elsewhere"));
    expect((await trustOf(folder, { dataFolder: join(base, "elsewhere") })).state).toBe("untrusted");
  });

  it("SEC-06 refuses a folder that will hold the decisions, by whatever name", async () => {
    symlinkSync(folder, join(base, "link"));
    const inner = { dataFolder: join(base, "link/not/yet") };
    await expect(trustFolder(await trustOf(folder, inner), inner)).rejects.toSatisfy((error) =>
      CapstanError.is(error, "usage"),
    );
  });

  it("SEC-06 keeps decisions private, and believes none that is damaged or that others could have written", async () => {
    await Promise.all([trustNow(), trustNow(), trustNow()]);
    const [name = "", ...others] = readdirSync(join(options.dataFolder, "trust"));
    expect(others).toEqual([]);
    const file = join(options.dataFolder, "trust", name);
    expect([statSync(file).mode & 0o777, statSync(join(options.dataFolder, "trust")).mode & 0o777]).toEqual([
      0o600, 0o700,
    ]);
    chmodSync(file, 0o666);
    expect(await state()).toBe("untrusted");
    chmodSync(file, 0o600);
    expect(await state()).toBe("trusted");
    writeFileSync(file, '{"version":1,');
    expect(await state()).toBe("untrusted");
  });

  it("lists and takes back", async () => {
    await trustNow();
    expect(await trustedFolders(options)).toEqual([folder]);
    expect([await distrustFolder(folder, options), await distrustFolder(folder, options)]).toEqual([true, false]);
    expect([await trustedFolders(options), await state()]).toEqual([[], "untrusted"]);
  });
});

describe("settledTrust", () => {
  it("SEC-06 without anybody to ask nothing becomes trusted", async () => {
    expect((await settledTrust(folder, options)).state).toBe("untrusted");
    expect((await settledTrust(folder, { ...options, ask: async () => false })).state).toBe("untrusted");
    const asked: (readonly string[])[] = [];
    const ask = async ({ files }: { readonly files: readonly string[] }): Promise<boolean> => asked.push(files) > 0;
    expect((await settledTrust(folder, { ...options, ask })).state).toBe("trusted");
    expect((await settledTrust(folder, { ...options, ask })).state).toBe("trusted");
    expect(asked).toHaveLength(1);
  });
});

describe("capstan trust", () => {
  it("SEC-06 needs a person or --yes, shows what is trusted, lists it and takes it back", async () => {
    await using at = await commandHome();
    writeFileSync(join(at.folder, "AGENTS.md"), "Be kind.");
    const refused = await at.run(["trust"]);
    expect([refused.code, refused.stdout]).toEqual([3, ""]);
    expect(refused.stderr).toContain("AGENTS.md");
    const done = await at.run(["trust", ".", "--yes"]);
    expect([done.code, done.stdout]).toEqual([0, `${at.folder} is trusted.\n`]);
    expect((await at.run(["trust", "--list"])).stdout).toBe(`trusted    ${at.folder}\n`);
    writeFileSync(join(at.folder, "AGENTS.md"), "Be evil.");
    expect((await at.run(["trust", "--list"])).stdout).toBe(`changed    ${at.folder}\n`);
    expect((await at.run(["trust", at.folder, "--remove"])).stdout).toBe("No longer trusted.\n");
    expect((await at.run(["trust", "--list"])).stdout).toBe("");
  });

  it("SEC-06 no command works with settings and decisions of the folder it is called in", async () => {
    await using at = await commandHome();
    mkdirSync(join(at.folder, "state"));
    writeFileSync(join(at.folder, "state/settings.json"), '{"permission":{"allow":["shell"]}}');
    for (const named of ["state", "./state", "../x"]) {
      const { code, stderr } = await at.run(["policy", "explain", "rm -rf x"], { env: { CAPSTAN_HOME: named } });
      expect([code, stderr.includes("CAPSTAN_HOME must be an absolute path")]).toEqual([2, true]);
    }
  });

  it("SEC-06 is refused to a command that an agent runs", async () => {
    await using at = await commandHome();
    const { code, stderr } = await at.run(["trust", "--yes"], { env: { CAPSTAN_RUN: "1.2.3.4" } });
    expect([code, stderr.includes("(permission-denied)")]).toEqual([1, true]);
  });
});
