import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type AnthropicReply, type AnthropicScript, anthropicServer } from "@capstan/models/testing";
import { type CommandHome, commandHome, runChild, COMMAND } from "./command-child.ts";

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
    expect(end.stderr).toContain("✓ Edit a.txt\n      - one\n      + two\n");
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
    const rule = /--allow '((?:[^']|'\\'')*)'/.exec(line)?.[1]?.replaceAll("'\\''", "'") ?? "";
    expect(rule).toBe("shell(echo it said so)");
    expect(await it.at.run(["run", "say it", "--allow", rule])).toMatchObject({ code: 0, stdout: "I could.\n" });
  });

  it("PERM-12 keeps accept-edits without a terminal, and still denies the shell", async () => {
    await using it = await setup([editA, shell("rm a.txt"), text("Edited.")]);
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
    const library = new URL("index.ts", import.meta.url).href;
    const testing = new URL("testing.ts", import.meta.url).href;
    await writeFile(
      file,
      `import { agent, config, tool } from "${library}";
import { scriptedModel } from "${testing}";
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
