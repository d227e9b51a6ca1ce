import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { agent } from "@capstan/core";
import { scriptedModel, testRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { commands, loadCommands } from "../commands/index.ts";
import { call, resultsOf } from "../file-world.ts";
import { rules } from "../rules/index.ts";
import { loadSkills, skills } from "../skills/index.ts";
import { skillFile, temporaryFolder } from "../temporary-definitions.ts";
import { loadPackage, loadTools, lookAtPackage, packageFolder } from "./index.ts";

const CORE = pathToFileURL(join(import.meta.dirname, "../../../core/src/index.ts")).href;
const toolModule = (name: string): string =>
  `import { jsonSchema, tool } from ${JSON.stringify(CORE)};\n` +
  `export default tool({ name: ${JSON.stringify(name)}, description: "Says hello.", input: jsonSchema({ type: "object" }), execute: () => "hello" });\n`;
const FILES = {
  "capstan.json": JSON.stringify({
    name: "@team/kit",
    version: "1.0.0",
    skills: "./skills",
    commands: "commands/",
    rules: "rules",
    tools: "tools",
    plugins: "plugin.mjs",
  }),
  "package.json": '{ "name": "@team/kit", "type": "module" }',
  "skills/pdf/SKILL.md": skillFile("pdf"),
  "commands/fix.md": "Fix $1.",
  "rules/style.md": "Be brief.",
  "tools/hello.ts": toolModule("hello"),
  "plugin.mjs":
    'export default () => [{ name: "marker", input: (message, _context, next) => next({ ...message, parts: [...message.parts, { type: "text", text: " (marked)" }] }) }];',
};

describe("loadTools", () => {
  it("TOOL-44 loads the tools of a folder's modules, and tells which do not load", async () => {
    using folder = temporaryFolder({
      "a.ts": toolModule("hello"),
      "b.mjs": "export default [];",
      "c.js": "throw new Error('broken');",
      "d.mjs": toolModule("hello"),
      "e.test.ts": "throw new Error('not for this');",
      "deep/f.ts": "throw new Error('not for this');",
      "package.json": '{ "type": "module" }',
    });
    using outside = temporaryFolder({ "x.mjs": toolModule("outside") });
    symlinkSync(join(outside.path, "x.mjs"), join(folder.path, "link.mjs"));
    const { tools, diagnostics } = await loadTools(folder.path);
    expect(tools.map(({ name }) => name)).toEqual(["hello"]);
    expect(diagnostics.map(({ file, message }) => `${file}: ${message.slice(0, 24)}`)).toEqual([
      'b.mjs: it needs "export default',
      "c.js: broken",
      "d.mjs: another file has a tool ",
      "link.mjs: it is no file of this fo",
    ]);
  });

  it("TOOL-44 has nothing where there is no folder", async () => {
    expect(await loadTools("/nowhere/at/all")).toEqual({ tools: [], diagnostics: [] });
  });
});

describe("loadPackage", () => {
  it("SKILL-14 brings skills, commands, rules, tools and plugins of a package that is trusted by its content", async () => {
    using folder = temporaryFolder(FILES);
    const { hash, manifest, files } = await lookAtPackage(folder.path);
    expect([manifest.name, files.length]).toEqual(["@team/kit", 7]);
    const kit = await loadPackage(folder.path, { hash });
    const model = scriptedModel([{ calls: [call("hello", {}), call("skill", { name: "pdf" })] }, { text: "ok" }]);
    const plugins = [
      commands(await loadCommands({ folders: kit.commands })),
      ...kit.plugins,
      rules(kit.rules),
      skills(await loadSkills({ folders: kit.skills })),
    ];
    const worker = agent({ name: "worker", model, instructions: "Work.", tools: kit.tools, plugins });
    await using runtime = await testRuntime({ agents: [worker] });
    const session = await runtime.session({ agent: worker });
    await (await session.send("/fix it")).result();
    expect(model.requests[0]?.messages[0]?.parts).toEqual([
      { type: "text", text: "Fix it." },
      { type: "text", text: " (marked)" },
    ]);
    expect(model.requests[0]?.system).toBe("Work.\n\nRules of the package @team/kit (style.md):\n\nBe brief.");
    expect(resultsOf(await runtime.store.read(session.id, { after: 0, limit: 1_000 }))).toMatchObject([
      "hello ok: hello",
      expect.stringMatching(/^skill ok/),
    ]);
  });

  it("SKILL-14 SEC-06 runs nothing of a package that changed since it was trusted", async () => {
    using folder = temporaryFolder(FILES);
    const { hash } = await lookAtPackage(folder.path);
    folder.put("plugin.mjs", "globalThis.packageRan = true; export default { name: 'x' };");
    await expect(loadPackage(folder.path, { hash })).rejects.toMatchObject({ code: "file-changed" });
    folder.put("plugin.mjs", FILES["plugin.mjs"]);
    folder.put("tools/new.ts", "globalThis.packageRan = true;");
    await expect(loadPackage(folder.path, { hash })).rejects.toMatchObject({ code: "file-changed" });
    expect("packageRan" in globalThis).toBe(false);
  });

  it("SKILL-14 says what is wrong with a manifest", async () => {
    const problem = async (manifest: string): Promise<string> => {
      using folder = temporaryFolder({ "capstan.json": manifest });
      return await lookAtPackage(folder.path).then(
        () => "none",
        (error: unknown) => String(error).replace(/.*capstan\.json: /, ""),
      );
    };
    expect(await problem("{")).toMatch(/^not JSON/);
    expect(await problem("[]")).toBe("it is no object");
    expect(await problem('{"name":"a","hooks":{}}')).toBe('it has no member "hooks"');
    expect(await problem('{"name":"A b"}')).toMatch(/^name: it needs one/);
    expect(await problem('{"name":"a","skills":"../x"}')).toBe('skills: "../x" is no place in the package');
    expect(await problem('{"name":"a","tools":1}')).toBe("tools: it is a text");
  });

  it("SKILL-14 takes skills and commands of a Claude Code plugin, and finds an npm package by name", async () => {
    using folder = temporaryFolder({
      "node_modules/kit/package.json": '{ "name": "kit" }',
      "node_modules/kit/.claude-plugin/plugin.json":
        '{ "name": "kit", "author": { "name": "me" }, "hooks": "./hooks.json" }',
      "node_modules/kit/skills/pdf/SKILL.md": skillFile("pdf"),
    });
    mkdirSync(join(folder.path, "src"));
    const found = packageFolder("kit", join(folder.path, "src"));
    expect(found).toBe(join(folder.path, "node_modules/kit"));
    expect((await lookAtPackage(found)).manifest).toEqual({ name: "kit", skills: "skills" });
    expect(() => packageFolder("nope", folder.path)).toThrow(/no package "nope"/);
  });
});
