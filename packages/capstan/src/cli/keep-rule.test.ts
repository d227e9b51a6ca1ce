import { lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CapstanError } from "@capstan/core";
import { keepRule } from "./keep-rule.ts";
import { readSettings } from "./settings.ts";

let home = "";
const env = (): { readonly CAPSTAN_HOME: string } => ({ CAPSTAN_HOME: home });
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "capstan-keep-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

describe("keepRule", () => {
  it("PERM-01 PERM-03 keeps rules of one agent and of all beside what is there, each once, in a private file", async () => {
    await writeFile(join(home, "settings.json"), '{ "model": "demo", "permission": { "deny": ["shell(rm *)"] } }');
    const keep = keepRule(env());
    for (const rule of ["shell(ls)", "shell(ls)", "edit"]) await keep(rule, { scope: "agent", agent: "coder" });
    await keep("glob", { scope: "global", agent: "coder" });
    expect(await readSettings(env())).toEqual({
      model: "demo",
      permission: { deny: ["shell(rm *)"] },
      always: { all: ["glob"], agents: { coder: ["shell(ls)", "edit"] } },
    });
    expect((await stat(join(home, "settings.json"))).mode & 0o777).toBe(0o600);
    expect(await readdir(home)).toEqual(["settings.json"]);
  });

  it("loses none of those that are given at the same time", async () => {
    const rules = Array.from({ length: 12 }, (_, at) => `shell(echo ${at})`);
    await Promise.all(rules.map((rule) => keepRule(env())(rule, { scope: "global", agent: "coder" })));
    expect([...((await readSettings(env())).always?.all ?? [])].toSorted()).toEqual(rules.toSorted());
  });

  it("writes through a link, and leaves a broken file as it is", async () => {
    const real = join(home, "dotfiles");
    await mkdir(real);
    await writeFile(join(real, "mine.json"), "{}");
    await symlink(join(real, "mine.json"), join(home, "settings.json"));
    await keepRule(env())("glob", { scope: "global", agent: "coder" });
    expect((await lstat(join(home, "settings.json"))).isSymbolicLink()).toBe(true);
    expect(JSON.parse(await readFile(join(real, "mine.json"), "utf8"))).toEqual({ always: { all: ["glob"] } });
    await writeFile(join(real, "mine.json"), "{ broken");
    await expect(keepRule(env())("edit", { scope: "global", agent: "coder" })).rejects.toSatisfy((error) =>
      CapstanError.is(error, "config-invalid"),
    );
    expect(await readFile(join(real, "mine.json"), "utf8")).toBe("{ broken");
    expect(await readdir(real)).toEqual(["mine.json"]);
  });
});
