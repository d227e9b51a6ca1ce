import { agent, textOf } from "@capstan/core";
import { crashSweep, scriptedModel, testRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../temporary-definitions.ts";
import { commands } from "./commands-plugin.ts";
import { expandTemplate } from "./expand-template.ts";
import { loadCommands, type LoadCommandsOptions } from "./load-commands.ts";

async function world(load: LoadCommandsOptions, replies = 8) {
  const model = scriptedModel(Array.from({ length: replies }, (_, at) => ({ text: `r${at}` })));
  const plugins = [commands(await loadCommands(load), { also: [{ name: "pdf", description: "A skill." }] })];
  const worker = agent({ name: "worker", model, instructions: "Work.", plugins });
  const runtime = await testRuntime({ agents: [worker] });
  const session = await runtime.session({ agent: worker, title: "Test" });
  return {
    model,
    session,
    send: async (text: string) => (await session.send(text)).result(),
    /** The texts of all messages of the newest request. */
    heard: () => model.requests.at(-1)?.messages.map(({ parts }) => textOf(parts)) ?? [],
    [Symbol.asyncDispose]: () => runtime.close(),
  };
}

describe("expandTemplate", () => {
  it("SKILL-08 puts arguments in place, all or by number, in one pass", () => {
    expect(expandTemplate("Fix $1 in $2: $ARGUMENTS", `'the bug' "a b.ts"`)).toBe(
      `Fix the bug in a b.ts: 'the bug' "a b.ts"`,
    );
    expect(expandTemplate("$1 $2 $3.", "$2 \\$ARGUMENTS")).toBe("$2 $ARGUMENTS .");
    expect(expandTemplate("Costs \\$1, $10", "a")).toBe("Costs $1, ");
    expect(expandTemplate("Review.", "src")).toBe("Review.\n\nArguments: src");
    expect(expandTemplate("Review.", "")).toBe("Review.");
  });
});

describe("loadCommands", () => {
  it("SKILL-08 reads commands from files, and says what has no effect", async () => {
    using project = temporaryFolder({
      "fix.md": "---\ndescription: Fixes it\nargument-hint: [file]\nmodel: x\n---\nFix $1. !`rm -rf x`\n",
      "git/log.md": "# Show the log\n\nShow.",
      "help.md": "mine",
      "1st.md": "x",
      "note.txt": "x",
    });
    using user = temporaryFolder({ "fix.md": "other", "only.md": "User." });
    const { commands: found, diagnostics } = await loadCommands({
      folders: [
        { source: "user", folder: user.path },
        { source: "project", folder: project.path },
      ],
      trustProject: true,
    });
    expect(found.map(({ name, description, hint, source }) => [name, description, hint, source])).toEqual([
      ["fix", "Fixes it", "[file]", "project"],
      ["git:log", "Show the log", undefined, "project"],
      ["only", "User.", undefined, "user"],
    ]);
    expect(diagnostics.map(({ code, command }) => `${code} ${command}`).toSorted()).toEqual([
      "field-unknown fix.md",
      "name-invalid 1st.md",
      "name-reserved help",
      "name-shadowed fix",
      "shell-not-run fix.md",
    ]);
  });

  it("SKILL-08 SEC-06 takes no command of a folder that is not trusted", async () => {
    using project = temporaryFolder({ "fix.md": "x" });
    const set = await loadCommands({ folders: [{ source: "project", folder: project.path }] });
    expect(set.commands).toEqual([]);
    expect(set.diagnostics).toMatchObject([{ code: "project-untrusted" }]);
  });
});

describe("commands", () => {
  it("SKILL-08 strips commands from the start of a prompt, and lets unknown ones and paths pass", async () => {
    await using it = await world({
      inline: [
        { name: "review", template: "Review $ARGUMENTS carefully." },
        { name: "team:deploy", template: "Deploy." },
      ],
    });
    await it.send("/review a.ts\n/deploy\nBe brief.\n/review not this");
    expect(it.heard()).toEqual(["Review a.ts carefully.\n\nDeploy.\n\nBe brief.\n/review not this"]);
    for (const text of ["/ultrathink hard", "/usr/bin/env is a path", "what is /review", "/"]) {
      await it.send(text);
      expect(it.heard().at(-1)).toBe(text);
    }
  });

  it("SKILL-08 runs commands of code once, as prompt or as answer", async () => {
    const ran: unknown[] = [];
    const inline = [
      {
        name: "count",
        run: ({ words }: { readonly words: readonly string[] }) => ({ answer: `${ran.push(words)} words` }),
      },
      { name: "ask", run: ({ text }: { readonly text: string }) => ({ prompt: `What is ${text}?` }) },
    ];
    await using it = await world({ inline });
    expect((await it.send("/count a 'b c'")).text).toBe("1 words");
    expect(ran).toEqual([["a", "b c"]]);
    expect(it.model.requests).toEqual([]);
    await it.send("/ask love");
    expect(it.heard().at(-1)).toBe("What is love?");
  });

  it("SKILL-08 answers /help and /session without a model", async () => {
    await using it = await world({ inline: [{ name: "fix", template: "x", description: "Fixes.", hint: "[file]" }] });
    expect((await it.send("/help")).text).toMatch(
      /^\/help {2}this list\n.*\n\/reset .*\n\/fix \[file\] {2}Fixes\.\n\/pdf {2}A skill\.$/s,
    );
    expect((await it.send("/session")).text).toMatch(
      /^Session ses_\S+: Test\nAgent worker, mode never-ask\nTokens: 0 in, 0 out$/,
    );
    expect(it.model.requests).toEqual([]);
  });

  it("SKILL-08 /reset lets the model forget, not the log; what stands behind it begins the new conversation", async () => {
    await using it = await world({});
    await it.send("My name is Ann.");
    expect((await it.send("/reset")).text).toMatch(/^The conversation begins anew/);
    await it.send("Who am I?");
    expect(it.heard()).toEqual(["/reset", expect.stringMatching(/begins anew/), "Who am I?"]);
    await it.send("/reset\nHello");
    expect(it.heard()).toEqual(["Hello"]);
    expect((await it.session.messages()).map(({ parts }) => textOf(parts))[0]).toBe("My name is Ann.");
  });

  it("SKILL-08 /reset leaves nothing of a long conversation to be summed up later", async () => {
    await using it = await world({});
    await it.send(`My name is Ann. ${"And so on. ".repeat(200)}`);
    await it.send("/reset\nHello");
    expect(it.heard()).toEqual(["Hello"]);
    await it.send("And?");
    expect(it.heard()).toEqual(["Hello", "r0", "And?"]);
    const seen: string[] = [];
    for await (const { event } of it.session.events({ live: false })) {
      if (!("key" in event)) continue;
      if (event.type === "context.compacted") seen.push(`${event.trigger} ${textOf(event.summary)}`);
      if (event.seq >= (await it.session.state()).head) break;
    }
    expect(seen).toEqual(["manual <system>The user began the conversation anew.</system>"]);
  });

  it("SKILL-08 EDGE-01 survives a crash at every write", async () => {
    let ran = 0;
    const inline = [{ name: "ask", run: () => ({ prompt: `What is ${(ran += 1) > 0}?` }) }];
    const plugins = [commands(await loadCommands({ inline }))];
    const worker = agent({
      name: "worker",
      model: scriptedModel([{ text: "a" }, { text: "b" }]),
      instructions: "Work.",
      plugins,
    });
    const report = await crashSweep({
      agents: [worker],
      async journey(runtime) {
        const session = await runtime.session({ agent: "worker", key: "k" });
        await (await session.send("/help", { idempotencyKey: "1" })).result();
        await (await session.send("/reset\n/ask it", { idempotencyKey: "2" })).result();
      },
    });
    expect(report.crashes).toBeGreaterThan(16);
  });
});
