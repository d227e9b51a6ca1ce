import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { commandHome } from "./command-child.ts";

describe.concurrent("capstan policy explain", { timeout: 120_000 }, () => {
  it("EDGE-09 says the verdict and what decides on each command and file", async () => {
    await using at = await commandHome();
    const allow = ["--allow", "shell(git status)", "--allow", "shell(git diff *)"];
    const allowed = await at.run(["policy", "explain", "shell(git status && git diff --stat)", ...allow]);
    expect(allowed).toEqual({
      code: 0,
      stderr: "",
      stdout:
        "allow: Allowed by the agent rule shell(git status)\n" +
        "  allow  run git status: Allowed by the agent rule shell(git status)\n" +
        "  allow  run git diff --stat: Allowed by the agent rule shell(git diff *)\n",
    });
    const asked = await at.run(["policy", "explain", "git status; ls $(id) > x", ...allow]);
    expect(asked.stdout.split("\n")).toEqual([
      "ask: No rule allows to write x",
      "  allow  run git status: Allowed by the agent rule shell(git status)",
      "  ask    write x: No rule allows to write x",
      "  ask    run id: No rule allows to run id",
      "  ask    run ls $(id): No rule allows to run ls $(id)",
      "",
    ]);
    const offered = await at.run(["policy", "explain", "npm test && npm run lint"]);
    expect(offered.stdout).toContain("  allow with --allow 'shell(npm test)' --allow 'shell(npm run lint)'\n");
  });

  it("EDGE-09 takes the settings' rules and any tool by its input", async () => {
    await using at = await commandHome();
    await mkdir(at.home, { recursive: true });
    await writeFile(join(at.home, "settings.json"), JSON.stringify({ permission: { deny: ["Edit(./secret/**)"] } }));
    const input = JSON.stringify({ path: "secret/a", content: "x" });
    const end = await at.run(["policy", "explain", "write_file", input, "--mode", "bypass", "--json"]);
    expect(JSON.parse(end.stdout)).toMatchObject({
      verdict: "deny",
      by: "rule",
      rule: "Edit(./secret/**)",
      tier: "global",
      needs: [{ need: { type: "write", path: "secret/a" }, verdict: "deny" }],
      rules: [],
    });
    const read = await at.run(["policy", "explain", "read_file(README.md)"]);
    expect(read.stdout.split("\n")[0]).toBe("allow: Reads inside the workspace");
  });

  it("EDGE-09 PERM-13 replays a session: which of its calls would be judged otherwise, without running any", async () => {
    await using at = await commandHome();
    const demo = await at.run(["demo"]);
    const id = /sessions show (ses_\w+)/.exec(demo.stderr)?.[1] ?? "";
    const same = await at.run(["policy", "replay", id]);
    expect(same).toMatchObject({ code: 0, stdout: "" });
    expect(same.stderr).toMatch(/^ *0 of \d+ calls would be judged otherwise\n$/);
    const other = await at.run(["policy", "replay", id, "--deny", "edit", "--json"]);
    const calls = other.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { readonly tool: string; readonly before: string; readonly now: string });
    expect(calls.length).toBeGreaterThan(0);
    expect(new Set(calls.map(({ tool, before, now }) => `${tool} ${before} ${now}`))).toEqual(
      new Set(["edit allow deny"]),
    );
    expect((await at.run(["policy", "replay", "ses_none"])).code).toBe(2);
  });

  it("refuses a tool that is not there and input that is none", async () => {
    await using at = await commandHome();
    for (const args of [
      ["nothing", "{}"],
      ["write_file", "{"],
      ["write_file", "{}"],
    ]) {
      expect((await at.run(["policy", "explain", ...args])).code).toBe(2);
    }
  });
});
