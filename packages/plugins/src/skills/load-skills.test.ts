import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { diskFolder } from "../definition-folder.ts";
import { skillFile, temporaryFolder } from "../temporary-definitions.ts";
import { loadSkills } from "./load-skills.ts";
import { parseSkill } from "./parse-skill.ts";

const codes = async (text: string, directory = "pdf"): Promise<readonly string[]> =>
  (await parseSkill({ text, source: "user", directory })).diagnostics.map(
    ({ severity, code }) => `${severity} ${code}`,
  );

describe("parseSkill", () => {
  it("SKILL-01 reads every field of the format", async () => {
    const text =
      "---\nname: pdf\ndescription: >\n  Reads PDFs.\n  Use for forms.\nlicense: MIT\ncompatibility: needs python3\n" +
      'metadata:\n  author: me\n  version: "1.0"\n  keywords: PDF, fill form\nallowed-tools: Bash(git:*) Read, skill_run\n---\n\n# How\n';
    const { skill, diagnostics } = await parseSkill({ text, source: "user", directory: "pdf" });
    expect(diagnostics).toEqual([]);
    expect(skill).toEqual({
      name: "pdf",
      description: "Reads PDFs. Use for forms.",
      instructions: "# How",
      source: "user",
      resources: [],
      metadata: { author: "me", version: "1.0", keywords: "PDF, fill form" },
      keywords: ["pdf", "fill form"],
      tags: [],
      hidden: false,
      license: "MIT",
      compatibility: "needs python3",
      allowedTools: ["Bash(git *)", "Read", "skill_run"],
    });
  });

  it("SKILL-01 mends what can be understood, and says so by code", async () => {
    expect(await codes("---\nname: pdf\ndescription: Use when: a PDF comes\n---\nx")).toEqual([
      "warning front-matter-invalid",
    ]);
    expect(await codes("---\ndescription: d\n---\nx")).toEqual(["warning name-missing"]);
    expect(await codes("---\nname: PDF Tools\ndescription: d\n---\nx", "PDF Tools")).toEqual(["warning name-invalid"]);
    expect(await codes("---\nname: other\ndescription: d\n---\nx")).toEqual(["warning name-mismatch-directory"]);
    expect(await codes(`---\nname: pdf\ndescription: ${"d".repeat(1_100)}\n---\nx`)).toEqual([
      "warning description-too-long",
    ]);
    expect(await codes("---\nname: pdf\ndescription: d\nhooks: {}\n---\n")).toEqual([
      "warning field-unknown",
      "warning instructions-empty",
    ]);
    expect(await codes("---\nname: pdf\ndescription: d\nmetadata: {n: 1}\n---\nx")).toEqual([
      "warning metadata-coerced",
    ]);
    expect(await codes("---\nname: pdf\ndescription: d\nallowed-tools: 'Read Nope('\n---\nx")).toContain(
      "warning allowed-tool-unknown",
    );
    expect(await codes("---\nname: pdf\ndescription: d\nallowed-tools: {a: 1}\n---\nx")).toEqual([
      "error allowed-tools-invalid",
    ]);
    expect(
      (await parseSkill({ text: "---\nname: pdf\ndescription: 'Use when: it'\n---\nx", source: "user" })).skill
        ?.description,
    ).toBe("Use when: it");
  });

  it("SKILL-01 leaves out what nobody could use", async () => {
    expect(await codes("# Just text")).toEqual(["error front-matter-missing"]);
    expect(await codes("---\nname: pdf\n---\nx")).toEqual(["error description-missing"]);
    expect(await codes("---\nname: '!!'\ndescription: d\n---\nx", "!!")).toEqual(["error name-invalid"]);
    expect(await codes("---\nname: pdf\ndescription: d\n")).toContain("error front-matter-missing");
  });

  it("SKILL-01 SEC-06 withstands hostile heads", async () => {
    const bomb = `---\nname: pdf\ndescription: d\na: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefgh"
      .split("")
      .map((name, at) => `${name}: &${name} [${`*${"abcdefg"[at]},`.repeat(9)}]`)
      .join("\n")}\n---\nx`;
    expect((await parseSkill({ text: bomb, source: "user", directory: "pdf" })).skill?.name).toBe("pdf");
    const { skill } = await parseSkill({
      text: '---\nname: pdf\ndescription: "a\\u202eb\\u0007\\nc"\nmetadata: {__proto__: {x: y}}\n---\nx',
      source: "user",
    });
    expect(skill?.description).toBe("ab c");
    expect(({} as { readonly x?: unknown }).x).toBeUndefined();
  });
});

describe("loadSkills", () => {
  it("SKILL-02 takes of one name the project's skill before the user's, the inline one and the built-in one", async () => {
    using project = temporaryFolder({ "a/SKILL.md": skillFile("a", "project") });
    using user = temporaryFolder({ "a/SKILL.md": skillFile("a", "user"), "b/SKILL.md": skillFile("b", "user") });
    using builtin = temporaryFolder({
      "c/SKILL.md": skillFile("c", "builtin"),
      "d/SKILL.md": skillFile("d", "builtin"),
    });
    const inline = ["b", "c"].map((name) => ({ name, description: "d", instructions: "inline" }));
    const { skills, diagnostics } = await loadSkills({
      folders: [
        { source: "builtin", folder: builtin.path },
        { source: "user", folder: user.path },
        { source: "project", folder: project.path },
      ],
      inline,
      trustProject: true,
    });
    expect(skills.map(({ name, instructions }) => `${name} ${instructions}`)).toEqual([
      "a project",
      "b user",
      "c inline",
      "d builtin",
    ]);
    expect(diagnostics.map(({ code, skill }) => `${code} ${skill}`)).toEqual([
      "name-shadowed a",
      "name-shadowed b",
      "name-shadowed c",
    ]);
  });

  it("SKILL-02 takes nothing of a project that is not trusted, and says so", async () => {
    using project = temporaryFolder({ "a/SKILL.md": skillFile("a") });
    const set = await loadSkills({ folders: [{ source: "project", folder: project.path }] });
    expect([set.skills, set.catalog]).toEqual([[], ""]);
    expect(set.diagnostics).toMatchObject([{ code: "project-untrusted", skill: project.path }]);
  });

  it("SKILL-02 includes and excludes by name", async () => {
    const inline = ["a", "b", "c"].map((name) => ({ name, description: "d", instructions: "x" }));
    expect((await loadSkills({ inline, include: ["a", "b"], exclude: ["b"] })).skills.map(({ name }) => name)).toEqual([
      "a",
    ]);
  });

  it("SKILL-02 SEC-06 reads no file outside of its folder, none that is special or too large, and no inner skill", async () => {
    using outside = temporaryFolder({ "secret.md": skillFile("secret") });
    using user = temporaryFolder({
      "ok/SKILL.md": skillFile("ok"),
      "ok/examples/SKILL.md": skillFile("inner"),
      "big/SKILL.md": skillFile("big", "x".repeat(200_000)),
    });
    mkdirSync(join(user.path, "link"));
    symlinkSync(join(outside.path, "secret.md"), join(user.path, "link/SKILL.md"));
    symlinkSync("/dev/zero", join(user.path, "ok/zero"));
    mkdirSync(join(user.path, "binary"));
    writeFileSync(join(user.path, "binary/SKILL.md"), Buffer.from([0x2d, 0xff, 0xfe]));
    const { skills, diagnostics } = await loadSkills({ folders: [{ source: "user", folder: user.path }] });
    expect(skills.map(({ name, resources }) => [name, resources])).toEqual([["ok", ["examples/SKILL.md", "zero"]]]);
    expect(diagnostics.map(({ code, skill }) => `${code} ${skill}`).toSorted()).toEqual([
      "file-too-large big",
      "unreadable binary",
      "unreadable link",
    ]);
    const folder = diskFolder(user.path);
    for (const name of [
      "../secret.md",
      "/etc/passwd",
      "link/SKILL.md",
      "ok/zero",
      "ok/../ok/SKILL.md",
      "ok",
      "",
      "a\0b",
    ])
      expect(await folder.read(name, 10), name).toBeUndefined();
  });

  it("SKILL-02 follows links that people make in their own folder, one step and no further", async () => {
    using kept = temporaryFolder({ "real/SKILL.md": skillFile("linked"), "real/a.md": "a", "secret.md": "secret" });
    using user = temporaryFolder();
    symlinkSync(join(kept.path, "real"), join(user.path, "linked"));
    symlinkSync(join(kept.path, "secret.md"), join(kept.path, "real/out.md"));
    const { skills } = await loadSkills({ folders: [{ source: "user", folder: user.path }] });
    expect(skills).toMatchObject([{ name: "linked", resources: ["a.md", "out.md"] }]);
    expect(await skills[0]?.folder?.read("a.md", 10)).toEqual(Buffer.from("a"));
    expect(await skills[0]?.folder?.read("out.md", 10)).toBeUndefined();
    expect(
      (await loadSkills({ folders: [{ source: "project", folder: user.path }], trustProject: true })).skills,
    ).toEqual([]);
  });

  it("SKILL-03 writes dynamic skills with their files at the start, and finds them as any other", async () => {
    using folder = temporaryFolder();
    const skill = {
      name: "made",
      description: 'Says: "hi", #1',
      instructions: "Run it.",
      allowedTools: ["Read"],
      keywords: ["hi"],
      files: { "scripts/hi.sh": "echo hi\n" },
    };
    const load = () => loadSkills({ write: { folder: folder.path, skills: [skill] } });
    const { skills, diagnostics } = await load();
    expect(diagnostics).toEqual([]);
    expect(skills).toMatchObject([
      {
        name: "made",
        description: 'Says: "hi", #1',
        source: "inline",
        resources: ["scripts/hi.sh"],
        allowedTools: ["Read"],
        keywords: ["hi"],
      },
    ]);
    const before = readFileSync(join(folder.path, "made/SKILL.md"), "utf8");
    await load();
    expect(readFileSync(join(folder.path, "made/SKILL.md"), "utf8")).toBe(before);
    const leaving = { ...skill, files: { "../../x.sh": "" } };
    await expect(loadSkills({ write: { folder: folder.path, skills: [leaving] } })).rejects.toThrow(/no name below/);
  });

  it("SKILL-01 keeps the catalog short and its bytes the same", async () => {
    const inline = Array.from({ length: 100 }, (_, at) => ({
      name: `skill-${at}`,
      description: `Number ${at}: ${"long ".repeat(150)}`,
      instructions: "x",
    }));
    const [one, two] = [await loadSkills({ inline }), await loadSkills({ inline: inline.toReversed() })];
    expect(one.catalog).toBe(two.catalog);
    expect(one.catalog.length).toBeLessThanOrEqual(12_000);
    expect(one.catalog.split("\n")).toHaveLength(100);
  });

  it("HOOK-16 lets code resolve the skills and word the catalog, and fails or goes on as it says", async () => {
    const inline = ["a", "b"].map((name) => ({ name, description: "d", instructions: "x" }));
    const hooks = {
      resolve: (all: readonly { readonly name: string }[]) => all.filter(({ name }) => name === "b") as never,
      catalog: (text: string) => `Ours:\n${text}`,
    };
    expect((await loadSkills({ inline, hooks })).catalog).toBe("Ours:\n- b: d");
    const broken = {
      resolve: () => {
        throw new Error("no");
      },
    };
    await expect(loadSkills({ inline, hooks: broken })).rejects.toThrow(/resolve hook failed: no/);
    expect((await loadSkills({ inline, hooks: { ...broken, onFailure: "ignore" } })).skills).toHaveLength(2);
  });
});
