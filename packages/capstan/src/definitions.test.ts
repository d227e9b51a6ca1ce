import { existsSync } from "node:fs";
import { join } from "node:path";
import { expectCacheStable } from "@capstan/core/testing";
import { type AnthropicReply, billRatio, cacheBlocks } from "@capstan/models/testing";
import { lookAtPackage } from "@capstan/plugins/packages";
import { describe, expect, it } from "vitest";
import { LIBRARY } from "./command-child.ts";
import { call, type CommandSetup, setup, text } from "./command-setup.ts";

const skill = (name: string, body: string, head = ""): string =>
  `---\nname: ${name}\ndescription: For ${name}.\n${head}---\n\n${body}\n`;
const toolNamed = (name: string, says: string): string =>
  `import { jsonSchema, tool } from ${JSON.stringify(LIBRARY)};\n` +
  `export default tool({ name: ${JSON.stringify(name)}, description: "Says.", input: jsonSchema({ type: "object" }), execute: () => ${JSON.stringify(says)} });\n`;
const use = (name: string): AnthropicReply => call("skill", { name });
const read = call("read_file", { path: "a.txt" });
const edit = call("edit", { path: "a.txt", old_string: "one", new_string: "two" });
type Body = {
  readonly system?: unknown;
  readonly tools?: readonly { readonly name: string; readonly description: string }[];
};
const bodyOf = (it: CommandSetup, at: number): Body => (it.server.requests[at]?.body ?? {}) as Body;
const toolsOf = (it: CommandSetup, at: number): readonly string[] =>
  (bodyOf(it, at).tools ?? []).map(({ name }) => name);

describe.concurrent("skills, commands and rules of files", { timeout: 120_000 }, () => {
  it("SKILL-02 SKILL-04 SKILL-08 SKILL-09 SEC-06 are those of the user, and of a folder once it is trusted", async () => {
    await using it = await setup([
      text("A."),
      use("deploy"),
      call("skill_run", { name: "deploy", script: "scripts/say.sh", args: ["a b"] }),
      text("B."),
    ]);
    await it.put("work/.agents/skills/deploy/SKILL.md", skill("deploy", "Deploy with care."));
    await it.put("work/.agents/skills/deploy/scripts/say.sh", 'echo "said: $1 in $(basename "$PWD")"');
    await it.put("work/.claude/commands/ship.md", "Ship $1 now.");
    await it.put("work/.capstan/rules/style.md", "Whistle while you work.");
    await it.put(".claude/skills/mine/SKILL.md", skill("mine", "My way."));
    await it.put("home/rules/me.md", "Say please.");
    const before = await it.at.run(["run", "/ship it"]);
    expect(before.stderr).toContain(
      "  ! Not used: .capstan/rules/style.md, .claude/commands/ship.md, .agents/skills/deploy/SKILL.md and 1 more; you have not trusted",
    );
    expect(it.server.requests[0]?.text).toContain("/ship it");
    expect(it.server.requests[0]?.text).toContain("Say please.");
    expect(it.server.requests[0]?.text).not.toMatch(/whistle|For deploy|Ship it now/i);
    expect(bodyOf(it, 0).tools?.find(({ name }) => name === "skill")?.description).toMatch(
      /Skills:\n- mine: For mine\.$/,
    );

    expect((await it.at.run(["trust", "--yes"])).code).toBe(0);
    const after = await it.at.run(["run", "/ship it", "--allow", "skill_run", "--verbose"]);
    expect(after.stderr).toContain("  · Skills: deploy (project), mine (user)");
    expect(after.stderr).toContain("  · Commands: /ship");
    expect(it.server.requests[1]?.text).toMatch(/Rules of the user \(me\.md\).*Rules of this folder \(style\.md\)/s);
    expect(it.server.requests[1]?.text).toContain("Ship it now.");
    expect(it.server.requests[1]?.text).not.toContain("Deploy with care.");
    expect(it.server.requests[2]?.text).toContain("Deploy with care.");
    expect(it.server.requests[3]?.text).toContain(`said: a b in ${it.at.folder.split("/").at(-1)}`);

    await it.put("work/.agents/skills/deploy/scripts/say.sh", "echo other");
    const changed = await it.at.run(["run", "go"]);
    expect(changed.stderr).toContain("what you trusted has changed");
  });

  it("SKILL-02 SKILL-09 COST-01 EDGE-07 cost no more than 1.00 times the ideal, in several processes, until rules change", async () => {
    await using it = await setup(Array.from({ length: 3 }, () => [use("deploy"), read, text("Done.")]).flat());
    await it.put("work/a.txt", "one\n");
    await it.put("work/.agents/skills/deploy/SKILL.md", skill("deploy", "Deploy with care. ".repeat(50)));
    await it.put("work/.claude/rules/style.md", "Whistle while you work. ".repeat(50));
    await it.put("home/rules/me.md", "Say please.");
    await it.at.run(["trust", "--yes"]);
    for (const input of ["one", "two"])
      expect(await it.at.run(["run", input, "--key", "k"])).toMatchObject({ code: 0 });
    expect(it.server.requests).toHaveLength(6);
    expect(billRatio(it.server.requests, cacheBlocks)).toBeCloseTo(1, 6);
    expectCacheStable(it.server.requests.map(({ body }) => body));
    await it.put("home/rules/me.md", "Say thanks.");
    expect((await it.at.run(["run", "three", "--key", "k", "--verbose"])).stderr).toContain(
      "The cached prompt prefix is rebuilt: rules: me.md, style.md",
    );
    expect(it.server.requests.at(-1)?.text).toMatch(/Say thanks\..*Whistle/s);
  });

  it("SKILL-08 answers /help without asking a model", async () => {
    await using it = await setup([]);
    await it.put(".claude/commands/ship.md", "---\ndescription: Ships it.\nargument-hint: <what>\n---\nShip $1.");
    expect(await it.at.run(["run", "/help"])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/\/reset .*\n\/ship <what> {2}Ships it\.\n/),
    });
  });

  it("SKILL-04 does not run a script that rules do not allow", async () => {
    await using it = await setup([
      use("deploy"),
      call("skill_run", { name: "deploy", script: "scripts/say.sh" }),
      text("No."),
    ]);
    await it.put(".claude/skills/deploy/SKILL.md", skill("deploy", "Go."));
    await it.put(".claude/skills/deploy/scripts/say.sh", "touch ran");
    const end = await it.at.run(["run", "go"]);
    expect(end.stderr).toMatch(/✗ skill_run: Refused/);
    expect(end.code).toBe(3);
  });

  it("SKILL-05 SKILL-06 EDGE-01 a skill stays active through SIGKILL: what it does not allow is refused after it", async () => {
    const write = call("write_file", { path: "b.txt", content: "b" });
    await using it = await setup(({ text: said }) => {
      if (said.includes("tu_write_file")) return text("Done.");
      return said.includes("Only look.") ? write : use("careful");
    });
    await it.put(".claude/skills/careful/SKILL.md", skill("careful", "Only look.", "allowed-tools: Read\n"));
    const killed = await it.at.run(["run", "write it", "--mode", "accept-edits"], {
      onOutput: (shown, child) => void (shown.includes("Skill careful") && child.kill("SIGKILL")),
    });
    expect(killed.code).toBe(null);
    await it.at.run(["resume"]);
    expect(it.server.requests.at(-1)?.text).toContain(
      "The skill careful is active, and while it is, only these may be called: Read.",
    );
    expect(existsSync(join(it.at.folder, "b.txt"))).toBe(false);
  });

  it("TOOL-44 loads tools of the user's folder, and of a trusted one, which ask", async () => {
    const hello = call("hello", {});
    const ours = call("ours", {});
    await using it = await setup([hello, text("A."), ours, text("B."), ours, text("C.")]);
    await it.put("home/tools/hello.mjs", toolNamed("hello", "hello from the user"));
    await it.put("home/tools/broken.mjs", "export default 1;");
    await it.put("work/.capstan/tools/ours.mjs", toolNamed("ours", "hello from the project"));
    const first = await it.at.run(["run", "go"]);
    expect(first.stderr).toContain("! Tools of broken.mjs: it needs");
    expect(it.server.requests[1]?.text).toContain("hello from the user");
    expect(toolsOf(it, 0)).toContain("hello");
    expect(toolsOf(it, 0)).not.toContain("ours");
    await it.at.run(["trust", "--yes"]);
    expect((await it.at.run(["run", "go"])).stderr).toMatch(/✗ ours: Refused/);
    await it.at.run(["run", "go", "--allow", "ours"]);
    expect(it.server.requests[5]?.text).toContain("hello from the project");
  });

  it("SKILL-14 uses a package that the settings trust by its hash, and none that changed", async () => {
    await using it = await setup([text("A.")]);
    const kit = join(it.at.folder, "kit");
    await it.put("work/kit/capstan.json", { name: "kit", skills: "skills" });
    await it.put("work/kit/skills/pdf/SKILL.md", skill("pdf", "Read."));
    const { hash } = await lookAtPackage(kit);
    await it.put("settings.json", { packages: [{ from: kit, hash }] });
    await it.at.run(["run", "go"]);
    expect(bodyOf(it, 0).tools?.find(({ name }) => name === "skill")?.description).toContain("- pdf: For pdf.");
    await it.put("work/kit/skills/pdf/SKILL.md", skill("pdf", "Read it all."));
    expect(await it.at.run(["run", "go"])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/is not what was trusted.*\(file-changed\)/),
    });
  });

  it("SKILL-14 SEC-06 capstan packages shows what a package brings, trusts it for a person, and takes that back", async () => {
    await using it = await setup([]);
    await it.put("work/kit/capstan.json", { name: "kit", commands: "commands" });
    await it.put("work/kit/commands/ship.md", "Ship $1.");
    expect(await it.at.run(["packages", "./kit"])).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/commands\/ship\.md\n.*Not trusted/s),
    });
    expect(await it.at.run(["packages", "./kit", "--yes"], { env: { CAPSTAN_RUN: "1" } })).toMatchObject({
      stderr: expect.stringContaining("(permission-denied)"),
    });
    expect(await it.at.run(["packages", "./kit", "--yes"])).toMatchObject({ code: 0, stdout: "kit is trusted.\n" });
    expect((await it.at.run(["run", "/help"])).stdout).toContain("/ship");
    await it.put("work/kit/commands/other.md", "x");
    expect((await it.at.run(["packages"])).stdout).toMatch(/^changed {3}\S+\/kit\n$/);
    expect((await it.at.run(["packages", "kit", "--remove"])).stdout).toBe("No longer used.\n");
    expect((await it.at.run(["run", "/help"])).stdout).not.toContain("/ship");
  });

  it("TOOL-42 reads attachments of a prompt", async () => {
    await using it = await setup([text("A.")]);
    await it.put("work/a.txt", "one\n");
    await it.at.run(["run", "See <attachment>a.txt</attachment>"]);
    expect(it.server.requests[0]?.text).toContain("1\\tone");
  });
});

describe.concurrent("settings in layers", { timeout: 120_000 }, () => {
  it("SKILL-11 takes the local file before the project's before the user's, and only what tightens", async () => {
    await using it = await setup([text("A."), read, text("B."), read, text("C.")]);
    await it.put("work/a.txt", "one\n");
    await it.put("settings.json", {
      model: "anthropic/claude-user",
      permission: { mode: "accept-edits", allow: ["shell"] },
    });
    await it.put("work/.capstan/settings.json", {
      model: "anthropic/claude-project",
      permission: { mode: "bypass", allow: ["shell(rm *)"], ask: ["shell"] },
    });
    await it.put("work/.capstan/settings.local.json", {
      model: "anthropic/claude-local",
      permission: { deny: ["Read(a.txt)"] },
    });
    const models = (): readonly unknown[] =>
      it.server.requests.map(({ body }) => (body as { readonly model?: unknown }).model);
    expect((await it.at.run(["run", "go"])).stderr).toContain(
      "Not used: .capstan/settings.json, .capstan/settings.local.json",
    );
    await it.at.run(["trust", "--yes"]);
    const end = await it.at.run(["run", "go", "--verbose"]);
    expect(end.stderr).toMatch(/✗ read_file: .*Read\(a\.txt\)/);
    expect(end.stderr).toContain("its allow rules do not hold");
    expect(end.stderr).toContain("its mode bypass does not hold");
    await it.at.run(["run", "go", "--model", "anthropic/claude-flag"]);
    expect(models()).toEqual(["claude-user", "claude-local", "claude-local", "claude-flag", "claude-flag"]);
  });

  it("SKILL-11 PERM-10 a folder makes the mode stricter", async () => {
    await using it = await setup([edit, text("A.")]);
    await it.put("work/a.txt", "one\n");
    await it.put("settings.json", { permission: { mode: "accept-edits" } });
    await it.put("work/.capstan/settings.json", { permission: { mode: "plan" } });
    await it.at.run(["trust", "--yes"]);
    expect((await it.at.run(["run", "go"])).stderr).toMatch(/✗ edit: .*[Pp]lan mode/);
  });

  it("SKILL-11 says clearly what a layer may not say", async () => {
    await using it = await setup([]);
    await it.put("work/.capstan/settings.json", { sandbox: { confinement: "off" } });
    await it.at.run(["trust", "--yes"]);
    const end = await it.at.run(["run", "go"]);
    expect(end).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /\.capstan\/settings\.json: .*sandbox.*A folder may set: model.*\(config-invalid\)/,
      ),
    });
    await it.put("settings.json", { skills: { include: "a" } });
    expect((await it.at.run(["run", "go"])).stderr).toMatch(/settings\.json: skills\.include: .*\(config-invalid\)/);
  });
});
