import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type AnthropicReply, type AnthropicScript, anthropicServer } from "@capstan/models/testing";
import { COMMAND, type CommandHome, commandHome, LIBRARY, runChild, TESTING } from "./command-child.ts";

const KEY = "sk-test-0123456789";

type Setup = AsyncDisposable & {
  readonly at: CommandHome;
  readonly server: Awaited<ReturnType<typeof anthropicServer>>;
};

async function setup(script: AnthropicScript): Promise<Setup> {
  const server = await anthropicServer(script);
  const at = await commandHome({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: server.url });
  await writeFile(join(at.folder, "a.txt"), "one\n");
  await writeFile(join(at.folder, "b.txt"), "bee\n");
  return {
    at,
    server,
    async [Symbol.asyncDispose]() {
      await server.close();
      await at[Symbol.asyncDispose]();
    },
  };
}

const text = (value: string): AnthropicReply => ({ content: [{ type: "text", text: value }] });
const readBoth: AnthropicReply = {
  content: [
    { type: "text", text: "I read both." },
    { type: "tool_use", id: "tu_a", name: "read_file", input: { path: "a.txt" } },
    { type: "tool_use", id: "tu_b", name: "read_file", input: { path: "b.txt" } },
  ],
};
const editA: AnthropicReply = {
  content: [
    { type: "tool_use", id: "tu_c", name: "edit", input: { path: "a.txt", old_string: "one", new_string: "two" } },
  ],
};
const shell = (command: string): AnthropicReply => ({
  content: [{ type: "tool_use", id: "tu_s", name: "shell", input: { command } }],
});
/** The options that the last lines offer, as a shell would read them. */
function allowed(stderr: string): readonly string[] {
  const line = stderr.split("\n").find((text) => text.startsWith("  allow with ")) ?? "";
  const words = [...line.matchAll(/--allow '((?:[^']|'\\'')*)'/g)];
  return words.flatMap(([, rule = ""]) => ["--allow", rule.replaceAll("'\\''", "'")]);
}
const never: AnthropicReply = {
  ...text("Half an answer that never ends"),
  delivery: { stall: { afterBytes: 700, until: new Promise(() => undefined) } },
};

describe.concurrent("capstan run", { timeout: 120_000 }, () => {
  it("CLI-04 does a task of several turns with parallel calls and prints what the agent says", async () => {
    await using it = await setup([readBoth, editA, text("Changed one to two.")]);
    const end = await it.at.run(["run", "change it", "--mode", "accept-edits"]);
    expect(end).toMatchObject({ code: 0, stdout: "I read both.\nChanged one to two.\n" });
    expect(end.stderr).toContain("✓ Read a.txt");
    expect(end.stderr).toMatch(/✓ Edit a\.txt(?: \(\d[^)]*\))?\n      - one\n      \+ two\n/);
    expect(it.server.violations).toEqual([]);
    expect(await readFile(join(it.at.folder, "a.txt"), "utf8")).toBe("two\n");
    const results = it.server.requests[1]?.text.split('"tool_result"').slice(1).join() ?? "";
    expect(results.indexOf("one")).toBeLessThan(results.indexOf("bee"));
  });

  it("CLI-04 writes one envelope a line with stream-json, and nothing else", async () => {
    await using it = await setup([readBoth, text("Two files.")]);
    const end = await it.at.run(["run", "look", "--output", "stream-json"]);
    expect(end.code).toBe(0);
    const envelopes = end.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { sessionId: string; agent: string; event: { type: string } });
    expect(new Set(envelopes.map(({ sessionId }) => sessionId)).size).toBe(1);
    const types = envelopes.map(({ event }) => event.type);
    expect(types[0]).toBe("input.accepted");
    expect(types.at(-1)).toBe("run.finished");
    expect(types).toEqual(expect.arrayContaining(["text.delta", "tool.started", "tool.finished", "message.added"]));
    expect(end.stderr).toBe("");
  });

  it("CLI-04 writes one result object with json", async () => {
    await using it = await setup([text("Forty-two.")]);
    const end = await it.at.run(["run", "--output", "json"], { input: "what is it?" });
    expect(JSON.parse(end.stdout)).toMatchObject({
      status: "finished",
      reason: "end-turn",
      exitCode: 0,
      text: "Forty-two.",
      turns: 1,
    });
  });

  it("PERM-05 denies what nobody can allow, ends with 3 and names the rule that helps", async () => {
    await using it = await setup([
      shell("echo it said so"),
      text("I could not."),
      shell("echo it said so"),
      text("I could."),
    ]);
    const end = await it.at.run(["run", "say it"]);
    expect(end).toMatchObject({ code: 3, stdout: "I could not.\n" });
    const line = end.stderr.split("\n").find((text) => text.startsWith("capstan: ")) ?? "";
    expect(line).toContain("A call was refused because nobody can be asked");
    const rules = allowed(end.stderr);
    expect(rules).toEqual(["--allow", "shell(echo it said so)"]);
    expect(await it.at.run(["run", "say it", ...rules])).toMatchObject({ code: 0, stdout: "I could.\n" });
  });

  it("PERM-05 names every rule that helps, once, and says what no rule can allow", async () => {
    const commands = ["echo a", "echo a", "echo $(id)", `echo ${"long ".repeat(120)}`.trim()];
    const calls: AnthropicReply = {
      content: [
        ...commands.map((command, at) => ({
          type: "tool_use" as const,
          id: `tu_${at}`,
          name: "shell",
          input: { command },
        })),
        {
          type: "tool_use",
          id: "tu_e",
          name: "edit",
          input: { path: "it's.txt", old_string: "one", new_string: "two" },
        },
      ],
    };
    await using it = await setup([calls, text("No."), calls, text("Almost.")]);
    const end = await it.at.run(["run", "do all"]);
    expect(end.code).toBe(3);
    expect(end.stderr).toMatch(
      /^capstan: 5 calls were refused because nobody can be asked \(.*\(permission-denied\)$/m,
    );
    expect(end.stderr).toMatch(
      /^ {2}no rule can allow Run echo \$\(id\); go on in a terminal with "capstan run --session/m,
    );
    const rules = allowed(end.stderr);
    expect(rules.filter((word) => word !== "--allow")).toHaveLength(new Set(rules).size - 1);
    expect(rules).toEqual(expect.arrayContaining(["shell(echo a)", "edit(./it's.txt)"]));
    const again = await it.at.run(["run", "do all", ...rules]);
    expect(again.stderr).toMatch(/^capstan: A call was refused because nobody can be asked \(Run echo \$\(id\)\)/m);
    expect(again).toMatchObject({ code: 3, stderr: expect.not.stringContaining("--allow") });
  });

  it("PERM-12 keeps accept-edits without a terminal, and still denies the shell", async () => {
    await using it = await setup([readBoth, editA, shell("rm a.txt"), text("Edited.")]);
    const end = await it.at.run(["run", "do", "--mode", "accept-edits"]);
    expect(end.code).toBe(3);
    expect(end.stderr).toContain("--allow 'shell(rm a.txt)'");
    expect(await readFile(join(it.at.folder, "a.txt"), "utf8")).toBe("two\n");
  });

  it("LOOP-04 ends with 4 at a limit", async () => {
    await using it = await setup([readBoth, text("never asked")]);
    const end = await it.at.run(["run", "look", "--max-turns", "1"]);
    expect(end.code).toBe(4);
    expect(end.stderr).toContain("(limit-reached)");
  });

  it("LOOP-29 ends with 1 and one line when the model refuses the key, which is never shown", async () => {
    await using it = await setup([{ status: 401 }, { status: 401 }]);
    const end = await it.at.run(["run", "hi"]);
    expect(end.code).toBe(1);
    expect(end.stderr).toMatch(/^capstan: .*\(model-auth\)$/m);
    expect(end.stderr + end.stdout).not.toContain(KEY);
  });

  it("EDGE-15 keeps provider keys out of the record", async () => {
    await using it = await setup([text(`Your key is ${KEY}, is it not?`)]);
    const end = await it.at.run(["run", `my key is ${KEY}`]);
    expect(end.stdout).toBe("Your key is [secret], is it not?\n");
    const id = (await it.at.run(["sessions", "list", "--json"])).stdout.match(/ses_\w+/)?.[0] ?? "";
    const stored = await it.at.run(["sessions", "export", id]);
    expect(stored.stdout).toContain("[secret]");
    expect(stored.stdout).not.toContain(KEY);
  });

  it("LOOP-08 Ctrl-C interrupts the run, keeps what was said and ends with 130", async () => {
    await using it = await setup([never]);
    let sent = false;
    const end = await it.at.run(["run", "talk", "--output", "stream-json"], {
      onOutput(shown, child) {
        if (sent || !shown.includes("text.delta")) return;
        sent = true;
        child.kill("SIGINT");
      },
    });
    expect(end.code).toBe(130);
    expect(end.stdout).toContain('"reason":"interrupted"');
    expect(end.stderr).toContain("(interrupted)");
  });

  it("DUR-11 SIGTERM leaves the run, and resume goes on with it", async () => {
    await using it = await setup((_request, index) => (index === 0 ? never : text("Here I am again.")));
    let sent = false;
    const end = await it.at.run(["run", "talk", "--output", "stream-json"], {
      onOutput(shown, child) {
        if (sent || !shown.includes("text.delta")) return;
        sent = true;
        child.kill("SIGTERM");
      },
    });
    expect(end.code).toBe(143);
    const resumed = await it.at.run(["resume"]);
    expect(resumed).toMatchObject({ code: 0, stdout: "Here I am again.\n" });
    expect((await it.at.run(["resume"])).stderr).toBe("Nothing is unfinished.\n");
  });

  it("SESS-13 goes on with a session by id and by key", async () => {
    await using it = await setup([text("First."), text("Second."), text("Third.")]);
    await it.at.run(["run", "one", "--key", "mine"]);
    await it.at.run(["run", "two", "--key", "mine"]);
    const [summary] = (await it.at.run(["sessions", "list", "--json"])).stdout.trim().split("\n");
    const { sessionId } = JSON.parse(summary ?? "") as { sessionId: string };
    expect(await it.at.run(["run", "three", "--session", sessionId])).toMatchObject({ code: 0, stdout: "Third.\n" });
    expect(it.server.requests[2]?.body["messages"]).toHaveLength(5);
  });

  it("DUR-05 the same idempotency key gives the same run", async () => {
    await using it = await setup([text("Once.")]);
    const args = ["run", "do it", "--idempotency-key", "job-1"];
    expect((await it.at.run(args)).stdout).toBe("Once.\n");
    expect((await it.at.run(args)).stdout).toBe("Once.\n");
    expect(it.server.requests).toHaveLength(1);
  });

  it("DUR-05 the same idempotency key gives the same run also under another mode", async () => {
    await using it = await setup([text("Once.")]);
    const args = ["run", "do it", "--idempotency-key", "job-1"];
    for (const mode of [[], ["--mode", "accept-edits"], ["--mode", "plan"]]) {
      expect(await it.at.run([...args, ...mode])).toMatchObject({ code: 0, stdout: "Once.\n" });
    }
    expect(it.server.requests).toHaveLength(1);
    const other = await it.at.run(["run", "do more", "--idempotency-key", "job-1"]);
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining("(idempotency-conflict)") });
  });

  it("says why the model is asked again, whether an answer had begun, and how long that takes", async () => {
    const cut: AnthropicReply = { ...text("Half an answer that never ends"), delivery: { cutAfterBytes: 700 } };
    await using it = await setup([{ status: 529 }, cut, text("At last.")]);
    const end = await it.at.run(["run", "talk"]);
    expect(end).toMatchObject({ code: 0, stdout: "At last.\n" });
    const [first = "", second = ""] = end.stderr.split("\n").filter((line) => line.startsWith("  … "));
    expect(first).toMatch(/\(model-overloaded\); trying again in 0\.5 s \(attempt 2\)$/);
    expect(first).not.toContain("broke off");
    expect(second).toMatch(
      /^ {2}… the answer broke off: .* \(model-(cut|network)\); trying again in 1 s \(attempt 3\)$/,
    );
  });

  it("LOOP-19 says in one line that there was no answer, and what a refusal means", async () => {
    const refused: AnthropicReply = { ...text("I cannot"), stopReason: "refusal" };
    await using it = await setup([readBoth, { content: [] }, refused]);
    const silent = await it.at.run(["run", "look"]);
    expect(silent).toMatchObject({ code: 0, stdout: "I read both.\n" });
    expect(silent.stderr).toMatch(
      /^capstan: The model ended without an answer; "capstan run --session ses_\w+" [^\n]*\n$/m,
    );
    const end = await it.at.run(["run", "look"]);
    expect(end.code).toBe(1);
    expect(end.stderr).toMatch(
      /^capstan: The model refused to answer; [^\n]*--session ses_\w+[^\n]*\(model-refused\)$/m,
    );
  });

  it("OUT-01 ends with an answer that fits --schema, or with one line that says why not", async () => {
    await using at = await commandHome();
    const file = join(at.folder, "agents.ts");
    await writeFile(
      file,
      `import { agent, config } from "${LIBRARY}";
import { scriptedModel } from "${TESTING}";
const model = scriptedModel(Array.from({ length: 9 }, () => ({ text: '{"sum":42}' })), { capabilities: { structured: true } });
export default config({ agents: [agent({ name: "adder", model, instructions: "Add." })] });
`,
    );
    const schemaOf = (type: string): string =>
      JSON.stringify({ type: "object", properties: { sum: { type } }, required: ["sum"] });
    await writeFile(join(at.folder, "sum.json"), schemaOf("integer"));
    const args = ["run", "40 and 2", "--config", file];
    const end = await at.run([...args, "--schema", "sum.json", "--output", "json"]);
    expect(end).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(end.stdout)).toMatchObject({ text: '{"sum":42}', output: { sum: 42 } });
    const unfit = await at.run([...args, "--schema", schemaOf("string")]);
    expect(unfit).toMatchObject({ code: 1, stderr: expect.stringMatching(/^capstan: [^\n]*\(output-invalid\)$/m) });
    const broken = await at.run([...args, "--schema", "{"]);
    expect(broken).toMatchObject({ code: 2, stderr: expect.stringMatching(/^capstan: [^\n]*\(config-invalid\)\n$/) });
  });

  it("EDGE-12 goes on when nobody reads the output any more", async () => {
    await using it = await setup([readBoth, editA, text("Done.")]);
    const line = `${COMMAND.map((word) => `'${word}'`).join(" ")} run change --mode accept-edits --output stream-json | head -n 1 >/dev/null; exit \${PIPESTATUS[0]}`;
    const end = await runChild(["bash", "-c", line], { env: it.at.env, cwd: it.at.folder });
    expect(end.code).toBe(0);
    expect(end.stderr).toContain("Nobody reads the output any more");
    expect(await readFile(join(it.at.folder, "a.txt"), "utf8")).toBe("two\n");
  });

  it("PERM-08 ends with 5 when only an answer from elsewhere can move the run", async () => {
    await using it = await setup([]);
    const file = join(it.at.folder, "agents.ts");
    await writeFile(
      file,
      `import { agent, config, tool } from "${LIBRARY}";
import { scriptedModel } from "${TESTING}";
const clock = tool({ name: "clock", description: "Asks the client for the time.", input: { "~standard": { version: 1, vendor: "x", validate: (value) => ({ value }), jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) } } } });
const model = scriptedModel([{ calls: [{ name: "clock", input: {} }] }, { text: "Late." }]);
export default config({ agents: [agent({ name: "watch", model, instructions: "Tell the time.", tools: [clock] })] });
`,
    );
    const end = await it.at.run(["run", "what time?", "--config", file, "--output", "json"]);
    expect(end.stderr).toContain("(run-waiting)");
    expect(end.code).toBe(5);
    expect(JSON.parse(end.stdout)).toMatchObject({
      status: "waiting",
      requests: [{ body: { type: "client-tool", tool: "clock" } }],
    });
  });
});
