import {
  agent,
  type Fact,
  jsonSchema,
  memoryStore,
  openRuntime,
  type Plugin,
  type RunOutcome,
  storeEngine,
  systemClock,
  systemIds,
  textOf,
  tool,
  type Tool,
  type Workspace,
} from "@capstan/core";
import { crashSweep, scriptedModel, type ScriptedReply, testRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { call, fileWorld, resultsOf } from "../file-world.ts";
import { temporaryFolder } from "../temporary-definitions.ts";
import { loadSkills, type LoadSkillsOptions } from "./load-skills.ts";
import { skillsOf } from "./session-skills.ts";
import { skills, type SkillsOptions } from "./skills-plugin.ts";

const use = (name: string) => ({ calls: [call("skill", { name })] });
const read = { calls: [call("read_file", { path: "a.ts" })] };
const edit = { calls: [call("edit", { path: "a.ts", old_string: "one", new_string: "two" })] };
const pdf = {
  name: "pdf",
  description: "Reads PDFs.",
  instructions: "Read page by page.",
  keywords: ["pdf"],
  tags: ["kind:form"],
};
const careful = { name: "careful", description: "Only looks.", instructions: "Look.", allowedTools: ["Read"] };

type Setup = {
  readonly load: LoadSkillsOptions;
  readonly options?: SkillsOptions;
  readonly turns: readonly ScriptedReply[];
  readonly more?: readonly Plugin[];
  readonly run?: Workspace["run"];
  readonly allow?: readonly string[];
};

/** One session of an agent with these skills, over a runtime that can be left. */
async function world({ load, options, turns, more = [], run, allow = ["Edit"] }: Setup) {
  const files = fileWorld({ "a.ts": "one\n" });
  const model = scriptedModel(turns);
  const plugins = [...more, skills(await loadSkills(load), options)];
  const worker = agent({ name: "worker", model, instructions: "Work.", tools: files.tools, plugins });
  const local = async (root: string): Promise<Workspace> => {
    const workspace = await (files.workspaces["local"] as (root: string) => Promise<Workspace>)(root); // it has one
    return { ...workspace, ...(run !== undefined && { run }) };
  };
  const runtime = await testRuntime({ agents: [worker], workspaces: { local }, permission: { mode: "ask", allow } });
  const session = await runtime.session({ agent: worker, workspace: "/work" });
  const log = (): Promise<readonly Fact[]> => runtime.store.read(session.id, { after: 0, limit: 10_000 });
  return {
    model,
    files,
    session,
    log,
    send: async (text: string, more: object = {}) => (await session.send(text, more)).result(),
    results: async () => resultsOf(await log()),
    [Symbol.asyncDispose]: () => runtime.close(),
  };
}
const active = async (it: { readonly session: Parameters<typeof skillsOf>[0] }) =>
  (await skillsOf(it.session).active()).map(({ name, via }) => `${name} ${via}`);

describe("skills", () => {
  it("SKILL-04 SKILL-05 tells of skills in one line each, and gives the instructions when the model asks", async () => {
    await using it = await world({
      load: { inline: [pdf, careful] },
      turns: [use("pdf"), use("pdf"), use("nope"), { text: "ok" }],
    });
    await it.send("Go");
    const [tools] = it.model.requests.map(({ tools: all }) => all.find(({ name }) => name === "skill")?.description);
    expect(tools).toMatch(/\nSkills:\n- careful: Only looks\.\n- pdf: Reads PDFs\.$/);
    expect(tools).not.toContain("page by page");
    expect(await it.results()).toEqual([
      'skill ok: <skill name="pdf">\nRead page by page.\n</skill>',
      "skill ok: The skill pdf is active already; its instructions are in this conversation.",
      'skill error: There is no skill "nope". There are: careful, pdf.',
    ]);
    expect(
      it.model.requests.every(({ system, tools: all }) => system === "Work." && all === it.model.requests[0]?.tools),
    ).toBe(true);
  });

  it("SKILL-04 reads files of an active skill, a part at a time, and none beside it", async () => {
    using folder = temporaryFolder();
    const files = { "references/long.md": "x".repeat(40_000), "references/form.md": "Fields." };
    const part = (path: string, offset?: number) => ({
      calls: [call("skill_read", { name: "pdf", path, ...(offset !== undefined && { offset }) })],
    });
    await using it = await world({
      load: { write: { folder: folder.path, skills: [{ ...pdf, files }] } },
      turns: [
        part("references/form.md"),
        use("pdf"),
        part("references/form.md"),
        part("references/long.md", 32_000),
        part("../../etc/passwd"),
        part("references/none.md"),
      ],
    });
    await it.send("Go");
    const [first, , form, long, outside, none] = await it.results();
    expect(first).toBe('skill_read error: The skill "pdf" is not active: call skill with its name first.');
    expect(form).toBe("skill_read ok: Fields.");
    expect(long).toBe(`skill_read ok: ${"x".repeat(8_000)}`);
    expect(outside).toContain("has no file ../../etc/passwd");
    expect(none).toContain("It has: references/form.md, references/long.md.");
  });

  it("SKILL-04 runs a script of an active skill within its time, by what starts it, and asks as for any command", async () => {
    using folder = temporaryFolder();
    const ran: unknown[] = [];
    const outcome: RunOutcome = {
      exitCode: 3,
      killedBy: null,
      exitSignal: null,
      stdout: "out\n",
      stderr: "err\n",
      truncated: false,
      durationMs: 1,
    };
    await using it = await world({
      load: { write: { folder: folder.path, skills: [{ ...pdf, files: { "scripts/check.py": "print(1)" } }] } },
      options: { scriptTimeoutMs: 1_234 },
      allow: ["skill_run"],
      turns: [use("pdf"), { calls: [call("skill_run", { name: "pdf", script: "scripts/check.py", args: ["a b"] })] }],
      run: async (argv, { timeoutMs, env }) => {
        ran.push([argv, timeoutMs, env]);
        return outcome;
      },
    });
    await it.send("Go");
    const place = `${folder.path}/pdf`;
    expect(ran).toEqual([[["python3", `${place}/scripts/check.py`, "a b"], 1_234, { SKILL_DIR: place }]]);
    expect((await it.results())[1]).toBe("skill_run error: out\nerr\n[exit code 3]");
    const asking = (
      await loadSkills({ write: { folder: folder.path, skills: [{ ...pdf, files: { "scripts/check.py": "" } }] } })
    ).skills;
    const all = skills({ skills: asking, diagnostics: [], catalog: "- pdf", hooks: {} }).tools ?? [];
    const run = Array.isArray(all) ? (all as readonly Tool[]).find(({ name }) => name === "skill_run") : undefined;
    expect([run?.name, run?.rerun, run?.builtIn]).toEqual(["skill_run", "never", true]);
    expect(run?.needs({ name: "pdf", script: "./scripts/check.py", args: ["x"] })).toMatchObject([
      { type: "execute", words: [`${place}/scripts/check.py`, "x"] },
    ]);
  });

  it("SKILL-06 EDGE-01 keeps a limit whose skill is gone or wider in the process that goes on", async () => {
    const files = fileWorld({ "a.ts": "one\n" });
    const worker = async (inline: LoadSkillsOptions["inline"] = []) =>
      agent({
        name: "worker",
        model: scriptedModel([{ text: "ok" }, edit, { text: "ok" }]),
        instructions: "Work.",
        tools: files.tools,
        plugins: [skills(await loadSkills({ inline }))],
      });
    for (const later of [[], [{ ...careful, allowedTools: ["Read", "Edit"] }]]) {
      const store = memoryStore();
      const open = async (given: LoadSkillsOptions["inline"]) =>
        openRuntime({
          agents: [await worker(given)],
          engine: storeEngine(store, { clock: systemClock, ids: systemIds(() => systemClock.now()) }),
          workspaces: files.workspaces,
          permission: { allow: ["Edit"] },
        });
      const first = await open([careful]);
      const session = await first.session({ agent: "worker", key: "k", workspace: "/work" });
      await skillsOf(session).activate("careful");
      await (await session.send("Look")).result();
      await first.close();
      await using second = await open(later);
      const again = await second.session({ agent: "worker", key: "k" });
      await again.update({ metadata: { skills: ["careful"] } });
      const { text } = await (await again.send("Edit")).result();
      expect(text).toBe("ok");
      expect(files.files.get("a.ts")).toBe("one\n");
    }
  });

  it("SKILL-04 SKILL-06 counts from the next call of the same turn on", async () => {
    const both = { calls: [...use("careful").calls, ...edit.calls, ...use("pdf").calls] };
    await using it = await world({
      load: { inline: [pdf, careful] },
      options: { maxActive: 1 },
      turns: [both, { text: "ok" }],
    });
    await it.send("Go");
    expect((await it.results()).map((line) => line.split(":")[0])).toEqual(["skill ok", "edit denied", "skill error"]);
  });

  it("SKILL-04 lets no more skills be active than may be", async () => {
    await using it = await world({
      load: { inline: [pdf, careful] },
      options: { maxActive: 1 },
      turns: [use("careful"), use("pdf"), { text: "ok" }],
    });
    await it.send("Go");
    expect((await it.results())[1]).toBe(
      "skill error: The skill pdf is not active: 1 skills are active already, which is as many as may be.",
    );
  });

  it("SKILL-06 refuses what an active skill does not allow, never allows more, and ends with the run", async () => {
    const both = { name: "both", description: "d", instructions: "x", allowedTools: ["Read", "Edit"] };
    const shell = tool({
      name: "deploy",
      description: "Deploys.",
      input: jsonSchema({ type: "object" }),
      permission: "deny",
      execute: () => "deployed",
    });
    const wide = { name: "wide", description: "d", instructions: "x", allowedTools: ["deploy"] };
    const more: Plugin = { name: "more", tools: [shell] };
    await using it = await world({
      load: { inline: [careful, both, wide] },
      more: [more],
      turns: [
        use("careful"),
        read,
        edit,
        use("both"),
        edit,
        { text: "ok" },
        edit,
        { text: "ok" },
        use("wide"),
        { calls: [call("deploy", {})] },
        read,
      ],
    });
    await it.send("Go");
    await it.send("Now");
    await it.send("Deploy");
    const results = (await it.results()).map((line) => line.replace(/:.*/s, ""));
    expect(results).toEqual([
      "skill ok",
      "read_file ok",
      "edit denied",
      "skill ok",
      "edit denied",
      "edit ok",
      "skill ok",
      "deploy denied",
      "read_file denied",
    ]);
    expect((await it.results())[2]).toBe(
      "edit denied: The skill careful is active, and while it is, only these may be called: Read.",
    );
  });

  it("SKILL-07 makes skills active by words and tags of the input, whole words only", async () => {
    await using it = await world({
      load: { inline: [pdf, careful] },
      turns: [{ text: "a" }, { text: "b" }, { text: "c" }, { text: "d" }],
    });
    const heard: number[] = [];
    for (const [text, tags] of [
      ["Read the PDF, please", {}],
      ["xpdfx", {}],
      ["Fill it", { kind: "form" }],
    ] as const) {
      await it.send(text, { tags });
      heard.push(
        it.model.requests.at(-1)?.messages.filter(({ parts }) => textOf(parts).includes("page by page")).length ?? 0,
      );
    }
    expect(heard).toEqual([1, 1, 2]);
  });

  it("SKILL-07 G20 hears only what was said, not what was read for it", async () => {
    const reading: Plugin = {
      name: "reading",
      input: (message, _context, next) =>
        next({ ...message, parts: [...message.parts, { type: "text", text: "a pdf" }] }),
    };
    await using it = await world({ load: { inline: [pdf] }, more: [reading], turns: [{ text: "a" }, { text: "b" }] });
    await it.send("Go");
    expect(textOf(it.model.requests[0]?.messages[0]?.parts ?? [])).toBe("Goa pdf");
    await it.send("The pdf");
    expect(textOf(it.model.requests[1]?.messages[2]?.parts ?? [])).toContain("page by page");
  });

  it("SKILL-05 keeps a skill active from outside, in every run, until it is told otherwise", async () => {
    await using it = await world({
      load: { inline: [pdf, careful] },
      turns: [{ text: "a" }, edit, { text: "b" }, edit, { text: "c" }],
    });
    await it.send("Hello");
    await skillsOf(it.session).activate("careful");
    await it.send("Edit it");
    expect(await active(it)).toEqual(["careful explicit"]);
    expect((await it.results())[0]).toMatch(/^edit denied: The skill careful/);
    await skillsOf(it.session).deactivate("careful");
    await it.send("Edit it now");
    expect(await active(it)).toEqual([]);
    expect((await it.results())[1]).toMatch(/^edit ok/);
  });

  it("SKILL-05 SKILL-08 is made active by its name after a slash, which the model does not see", async () => {
    await using it = await world({ load: { inline: [pdf] }, turns: [{ text: "a" }] });
    await it.send("/pdf read x.pdf");
    expect(textOf(it.model.requests[0]?.messages[0]?.parts ?? [])).toBe(
      'read x.pdf<skill name="pdf">\nRead page by page.\n</skill>',
    );
  });

  it("SKILL-05 says when instructions were summed up away, and gives them again", async () => {
    const summing: Plugin = {
      name: "summing",
      async prepare({ messages }, context) {
        const last = messages.at(-1);
        if (context.state.run?.turns !== 2 || last === undefined) return;
        await context.compact({ through: last.id, summary: [{ type: "text", text: "Short." }], trigger: "manual" });
      },
    };
    const long = { ...pdf, instructions: "Read page by page. ".repeat(100) };
    await using it = await world({
      load: { inline: [long] },
      more: [summing],
      turns: [use("pdf"), read, use("pdf"), { text: "ok" }],
    });
    const model = it.model.requests;
    await it.send("Go");
    expect(
      model.filter(({ messages }) =>
        messages.some(({ parts }) => textOf(parts).includes("call skill to read them again: pdf")),
      ).length,
    ).toBeGreaterThan(0);
  });

  it("HOOK-16 tells code of activation before it, which may refuse, and of the end", async () => {
    const told: string[] = [];
    const ended = Promise.withResolvers<void>();
    const hooks = {
      activate: ({ name }: { readonly name: string }, { via }: { readonly via: string }) => {
        told.push(`+${name} ${via}`);
        if (name === "careful") throw new Error("not today");
      },
      deactivate: ({ name }: { readonly name: string }, { reason }: { readonly reason: string }) => {
        told.push(`-${name} ${reason}`);
        ended.resolve();
      },
    };
    await using it = await world({
      load: { inline: [pdf, careful], hooks },
      turns: [use("pdf"), use("careful"), { text: "ok" }],
    });
    await it.send("Go");
    await ended.promise;
    expect(told).toEqual(["+pdf model", "+careful model", "-pdf run-end"]);
    expect((await it.results())[1]).toBe("skill error: The skill careful is not active: not today.");
  });

  it("HOOK-16 goes on where its failures are to be ignored", async () => {
    const activate = () => Promise.reject(new Error("down"));
    await using it = await world({
      load: { inline: [pdf], hooks: { activate, onFailure: "ignore" } },
      turns: [use("pdf"), { text: "ok" }],
    });
    await it.send("Go");
    expect((await it.results())[0]).toMatch(/^skill ok: <skill name="pdf">/);
  });

  it("SKILL-05 HOOK-16 EDGE-01 survives a crash at every write, and tells code of what is active anew", async () => {
    const vias: string[] = [];
    const hooks = {
      activate: ({ name }: { readonly name: string }, { via }: { readonly via: string }) =>
        void vias.push(`${name} ${via}`),
    };
    const set = await loadSkills({ inline: [pdf, careful], hooks });
    const files = fileWorld({ "a.ts": "one\n" });
    const worker = agent({
      name: "worker",
      model: scriptedModel([use("careful"), read, edit, { text: "ok" }]),
      instructions: "Work.",
      tools: files.tools,
      plugins: [skills(set)],
    });
    const report = await crashSweep({
      agents: [worker],
      workspaces: files.workspaces,
      async journey(runtime) {
        const session = await runtime.session({ agent: "worker", key: "k", workspace: "/work" });
        await (await session.send("/pdf look", { idempotencyKey: "go" })).result();
      },
    });
    expect(report.crashes).toBeGreaterThan(20);
    expect(new Set(vias)).toEqual(new Set(["pdf explicit", "careful model", "pdf resume", "careful resume"]));
    expect(files.files.get("a.ts")).toBe("one\n");
  });

  it("SKILL-05 has a fold that is JSON at any point", async () => {
    await using it = await world({ load: { inline: [pdf, careful] }, turns: [use("careful"), { text: "ok" }] });
    await it.send("/pdf go");
    const { fold } = skills(await loadSkills({ inline: [pdf] }));
    let own = fold?.start;
    for (const fact of await it.log()) {
      own = fold?.next(own, fact);
      expect(JSON.parse(JSON.stringify(own))).toStrictEqual(own);
    }
  });
});
