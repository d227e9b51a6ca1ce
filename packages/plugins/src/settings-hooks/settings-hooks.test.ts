import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { agent, type Agent, type Json, type Model, type Plugin, textOf, tool } from "@capstan/core";
import { crashSweep, scriptedModel, type ScriptedReply, testRuntime, type TestRuntime } from "@capstan/core/testing";
import { z } from "zod";
import { settingsHooks, type SettingsHooksOptions, toHookEvent } from "./index.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "capstan-hooks-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

type Handler = { readonly command: string; readonly [more: string]: unknown };
const hooks = (event: string, matcher: string | undefined, ...handlers: readonly Handler[]) => ({
  hooks: { [event]: [{ matcher, hooks: handlers.map((handler) => ({ type: "command", ...handler })) }] },
});
const plugins = (settings: unknown, options: SettingsHooksOptions = {}): Plugin =>
  settingsHooks(settings, { env: { OUT: folder }, ...options });
const written = (name: string): string => readFileSync(join(folder, name), "utf8");
/** Whether the process runs, as far as this system tells. */
function alive(pid: string): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid.trim()}/stat`, "utf8"));
  } catch {
    return false;
  }
}
const json = (value: Json): string => `printf '%s' '${JSON.stringify(value)}'`;

const input = z.object({ path: z.string(), new_string: z.string().optional() });
const ran: unknown[] = [];
const edit = tool({
  name: "edit",
  description: "Edits.",
  input,
  rerun: "safe",
  execute: (call) => {
    ran.push(call);
    if (call.path === "missing") throw new Error("no such file");
    return `edited ${call.path}`;
  },
});
const guarded = tool({
  name: "deploy",
  description: "Deploys.",
  input: z.object({}),
  permission: "ask",
  execute: () => "deployed",
});

function editor(
  turns: readonly ScriptedReply[],
  plugin: Plugin,
): { agent: Agent; model: Model & { requests: readonly { messages: readonly { parts: readonly unknown[] }[] }[] } } {
  const model = scriptedModel(turns);
  return {
    model,
    agent: agent({ name: "editor", model, instructions: "Edit.", tools: [edit, guarded], plugins: [plugin] }),
  };
}
const calls = (name: string, value: Json = {}): ScriptedReply => ({ calls: [{ name, input: value }] });

/** What the model read of the calls of a run with one turn of calls. */
async function results(plugin: Plugin, ...turns: readonly ScriptedReply[]): Promise<readonly string[]> {
  ran.length = 0;
  const { agent: one } = editor([...turns, { text: "Done." }], plugin);
  await using runtime = await testRuntime({ agents: [one] });
  const result = await (await runtime.send(one, "Go")).result();
  return result.messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === "tool-result" ? [textOf(part.output.content)] : [])),
  );
}
const facts = async (runtime: TestRuntime) => runtime.store.read("ses_1", { after: 0, limit: 1_000 });

describe("settingsHooks around calls", () => {
  it("HOOK-13 tells a command of the call as JSON on its input, and HOOK-04 exit code 2 blocks it", async () => {
    const plugin = plugins(
      hooks("PreToolUse", "edit", { command: 'cat > "$OUT/in"; echo "not this file" >&2; exit 2' }),
    );
    expect(await results(plugin, calls("edit", { path: "a" }))).toEqual(["not this file"]);
    expect(ran).toEqual([]);
    expect(JSON.parse(written("in"))).toMatchObject({
      hook_event_name: "PreToolUse",
      session_id: "ses_1",
      permission_mode: "dontAsk",
      agent_type: "editor",
      cwd: process.cwd(),
      tool_name: "edit",
      tool_input: { path: "a" },
    });
  });

  it("HOOK-06 holds a matcher against the whole name, as a regular expression", async () => {
    for (const [matcher, blocked] of [
      ["edit|write_file", true],
      ["ed.*", true],
      ["*", true],
      ["", true],
      [undefined, true],
      ["edi", false],
      ["dit", false],
      ["Bash", false],
    ] as const) {
      const said = await results(
        plugins(hooks("PreToolUse", matcher, { command: "exit 2" })),
        calls("edit", { path: "a" }),
      );
      expect([matcher, said[0] !== "edited a"]).toEqual([matcher, blocked]);
    }
  });

  it("HOOK-06 speaks the names of other programs to a guard that was written for those", async () => {
    const command = `cat > "$OUT/in"; ${json({ hookSpecificOutput: { updatedInput: { file_path: "b", new_string: "x" } } })}`;
    expect(
      await results(plugins(hooks("PreToolUse", "Edit|Write", { command })), calls("edit", { path: "a" })),
    ).toEqual(["edited b"]);
    expect(JSON.parse(written("in"))).toMatchObject({ tool_name: "Edit", tool_input: { file_path: "a" } });
    expect(ran).toEqual([{ path: "b", new_string: "x" }]);
  });

  it("HOOK-07 changes the arguments from command to command, and checks them again", async () => {
    const change = (value: Json): Handler => ({ command: `cat > "$OUT/in"; ${json({ updatedInput: value })}` });
    const good = plugins(hooks("PreToolUse", "edit", change({ path: "b" }), change({ path: "c" })));
    expect(await results(good, calls("edit", { path: "a" }))).toEqual(["edited c"]);
    expect(JSON.parse(written("in"))).toMatchObject({ tool_input: { path: "b" } });
    const bad = plugins(hooks("PreToolUse", "edit", change({ path: 5 })));
    expect((await results(bad, calls("edit", { path: "a" })))[0]).toMatch(/^Wrong arguments for edit/);
  });

  it("HOOK-04 takes the words allow, ask and deny; the allow of a project changes nothing (G15)", async () => {
    const word = (permissionDecision: string, options?: SettingsHooksOptions): Plugin =>
      plugins(
        hooks("PreToolUse", undefined, {
          command: json({ hookSpecificOutput: { permissionDecision, permissionDecisionReason: "because" } }),
        }),
        options,
      );
    expect(await results(word("allow"), calls("edit", { path: "a" }))).toEqual(["edited a"]);
    expect(await results(word("deny"), calls("edit", { path: "a" }))).toEqual(["because"]);
    expect((await results(word("ask"), calls("edit", { path: "a" })))[0]).toMatch(/^Refused/); // nobody can be asked
    expect((await results(word("perhaps"), calls("edit", { path: "a" })))[0]).toMatch(/"perhaps" is no decision/);
    expect((await results(word("allow", { from: "project" }), calls("deploy")))[0]).toMatch(/^Refused/);
    expect(await results(word("allow"), calls("deploy"))).toEqual(["deployed"]);
  });

  it("HOOK-14 fails closed before a call: too late, too loud, killed, not there, not readable", async () => {
    const block = async (handler: Handler) =>
      (await results(plugins(hooks("PreToolUse", undefined, handler)), calls("edit", { path: "a" })))[0];
    expect(await block({ command: "sleep 300", timeout: 0.05 })).toMatch(/took longer than 50 ms/);
    expect(await block({ command: "kill -9 $$" })).toMatch(/ended by SIGKILL/);
    expect(await block({ command: "/no/such/program" })).toMatch(/exit code 127/);
    expect(await block({ command: "/no/such/program", args: ["x"] })).toMatch(/could not be started/);
    expect(await block({ command: "echo '{ not json'" })).toMatch(/cannot be read/);
    expect(await block({ command: json({ continue: "false" }) })).toMatch(/"continue" is "false", not true or false/);
    const noisy = json({ hookSpecificOutput: { permissionDecision: "deny" } });
    expect(await block({ command: `echo Checking; ${noisy}` })).toMatch(/other text comes before the JSON/);
    expect(await block({ command: "echo Checked, no decision" })).toBe("edited a");
    expect(await block({ command: "head -c 200000 /dev/zero | tr '\\0' x" })).toMatch(/wrote more than/);
    expect(await block({ command: "exit 3", onFailure: "block" })).toMatch(/exit code 3/);
    expect(await block({ command: "exit 3" })).toBe("edited a");
    expect(await block({ command: "sleep 300", timeout: 0.05, onFailure: "continue" })).toBe("edited a");
  });

  it("HOOK-04 shows what came of a call, adds to it and replaces it; a failed one has a moment of its own", async () => {
    const after = (event: string, command: string) => plugins(hooks(event, "edit", { command }));
    const seen = after(
      "PostToolUse",
      `cat > "$OUT/in"; ${json({ hookSpecificOutput: { additionalContext: "run the tests" } })}`,
    );
    expect(await results(seen, calls("edit", { path: "a" }))).toEqual(["edited a<system>run the tests</system>"]);
    expect(JSON.parse(written("in"))).toMatchObject({
      tool_response: { content: [{ type: "text", text: "edited a" }] },
    });
    const replaced = after("PostToolUse", json({ hookSpecificOutput: { updatedToolOutput: "hidden" } }));
    expect(await results(replaced, calls("edit", { path: "a" }))).toEqual(["hidden"]);
    const linted = after("PostToolUse", "echo 'two errors' >&2; exit 2");
    expect(await results(linted, calls("edit", { path: "a" }))).toEqual(["edited a<system>two errors</system>"]);
    expect(
      await results(
        after("PostToolUseFailure", json({ additionalContext: "look for it" })),
        calls("edit", { path: "missing" }),
      ),
    ).toEqual(["no such file<system>look for it</system>"]);
    expect(await results(after("PostToolUse", "exit 2"), calls("edit", { path: "missing" }))).toEqual(["no such file"]);
  });

  it("HOOK-04 guards each of several calls of a turn, and those of sub-agents of an agent that has the plugin", async () => {
    const command = `if grep -q '"path":"secret"'; then echo "hands off" >&2; exit 2; fi`;
    const plugin = plugins(hooks("PreToolUse", "edit", { command }));
    const paths = ["a", "secret", "b"];
    const many = { calls: paths.map((path) => ({ name: "edit", input: { path } })) };
    expect(await results(plugin, many)).toEqual(["edited a", "hands off", "edited b"]);
    const helper = agent({ name: "helper", model: scriptedModel([many]), instructions: "Help.", tools: [edit] });
    const model = scriptedModel([calls("helper", { task: "edit" })]);
    const lead = agent({ name: "lead", model, instructions: "Lead.", tools: [helper], plugins: [plugin] });
    await using runtime = await testRuntime({ agents: [lead] });
    ran.length = 0;
    await (await runtime.send(lead, "Go")).result();
    expect(new Set(ran)).toEqual(new Set([{ path: "a" }, { path: "b" }])); // calls that may run beside each other end in any order
  });

  it.skipIf(process.platform !== "linux")("G10 ends what left the group and the session of its command", async () => {
    const away = (pid: string): string => `setsid -f bash -c 'echo $$ > "$OUT/${pid}"; exec sleep 300'`;
    const waits = `until [ -s "$OUT/first" ] && [ -s "$OUT/second" ]; do sleep 0.01; done`;
    const command = `${away("first")}; (${away("second")}) & ${waits}`;
    expect(await results(plugins(hooks("PreToolUse", undefined, { command })), calls("edit", { path: "a" }))).toEqual([
      "edited a",
    ]);
    for (const name of ["first", "second"]) {
      while (alive(written(name))) await new Promise((resolve) => setImmediate(resolve));
    }
  });

  it("ends what a command started, and does not wait for what holds its output", async () => {
    const command = "sleep 301 & echo $! > $OUT/pid; exit 0";
    expect(await results(plugins(hooks("PreToolUse", undefined, { command })), calls("edit", { path: "a" }))).toEqual([
      "edited a",
    ]);
    while (alive(written("pid"))) await new Promise((resolve) => setImmediate(resolve));
  });

  it("keeps secrets of the environment from commands", async () => {
    process.env["HOOK_TEST_API_KEY"] = "secret";
    const plugin = plugins(hooks("PreToolUse", undefined, { command: 'env > "$OUT/env"' }));
    await results(plugin, calls("edit", { path: "a" }));
    delete process.env["HOOK_TEST_API_KEY"];
    expect(written("env")).not.toContain("HOOK_TEST_API_KEY");
    expect(written("env")).toContain(`CLAUDE_PROJECT_DIR=${process.cwd()}`);
  });
});

describe("settingsHooks around runs", () => {
  const promptOf = (model: { requests: readonly { messages: readonly { parts: readonly unknown[] }[] }[] }, at = 0) =>
    model.requests[at]?.messages.map(({ parts }) => textOf(parts as never));

  it("HOOK-04 adds to a prompt what a command prints, or refuses it", async () => {
    const one = editor(
      [],
      plugins(hooks("UserPromptSubmit", undefined, { command: 'cat > "$OUT/in"; echo "today is Sunday"' })),
    );
    await using runtime = await testRuntime({ agents: [one.agent] });
    await (await runtime.send(one.agent, "Hello")).result();
    expect(promptOf(one.model)).toEqual(["Hello<system>today is Sunday</system>"]);
    expect(JSON.parse(written("in"))).toMatchObject({ prompt: "Hello" });

    const other = editor(
      [],
      plugins(hooks("UserPromptSubmit", undefined, { command: json({ decision: "block", reason: "no secrets" }) })),
    );
    await using refusing = await testRuntime({ agents: [other.agent] });
    const result = await (await refusing.send(other.agent, "key=1")).result();
    expect([result.reason, result.error?.message]).toEqual(["refused-input", "no secrets"]);
    expect(other.model.requests).toEqual([]);
  });

  it("HOOK-05 runs SessionStart once a session, SubagentStart in a sub-agent", async () => {
    const settings = {
      hooks: {
        session_start: [{ hooks: [{ type: "command", command: "echo started >> $OUT/starts; echo hello" }] }],
        SubagentStart: [{ matcher: "helper", hooks: [{ type: "command", command: "echo helper >> $OUT/starts" }] }],
        SubagentStop: [{ hooks: [{ type: "command", command: 'cat > "$OUT/sub"' }] }],
      },
    };
    const helper = agent({ name: "helper", model: scriptedModel([{ text: "Helped." }]), instructions: "Help." });
    const model = scriptedModel([{ calls: [{ name: "helper", input: { task: "x" } }] }]);
    const lead = agent({ name: "lead", model, instructions: "Lead.", tools: [helper] });
    await using runtime = await testRuntime({ agents: [lead], plugins: [plugins(settings)] });
    const session = await runtime.session({ agent: lead });
    await (await session.send("One")).result();
    await (await session.send("Two")).result();
    expect(written("starts")).toBe("started\nhelper\n");
    expect(promptOf(model)?.[0]).toBe("One<system>hello</system>");
    expect(JSON.parse(written("sub"))).toMatchObject({
      hook_event_name: "SubagentStop",
      agent_type: "helper",
      last_assistant_message: "Helped.",
    });
  });

  it("HOOK-05 lets a Stop command send the model back once", async () => {
    const command = 'if grep -q \'"stop_hook_active":true\'; then exit 0; fi; echo "run the tests first" >&2; exit 2';
    const one = editor([{ text: "Finished." }, { text: "Tested." }], plugins(hooks("Stop", undefined, { command })));
    await using runtime = await testRuntime({ agents: [one.agent] });
    expect(await (await runtime.send(one.agent, "Go")).text()).toBe("Tested.");
    expect(promptOf(one.model, 1)).toEqual(["Go", "Finished.", "run the tests first"]);
  });

  it("HOOK-05 notifies of open requests, and a PermissionRequest command answers them", async () => {
    const settings = {
      hooks: {
        Notification: [
          {
            matcher: "permission_prompt",
            hooks: [{ type: "command", command: 'cat > "$OUT/note.new"; mv "$OUT/note.new" "$OUT/note"' }],
          },
        ],
        PermissionRequest: [
          {
            matcher: "deploy",
            hooks: [{ type: "command", command: json({ hookSpecificOutput: { decision: { behavior: "allow" } } }) }],
          },
        ],
      },
    };
    const one = editor([calls("deploy")], plugins(settings));
    await using runtime = await testRuntime({ agents: [one.agent], permission: { mode: "ask" } });
    const run = await runtime.send(one.agent, "Go");
    for await (const { event } of run.events()) if (event.type === "run.finished") break;
    const log = await facts(runtime);
    expect(log.find((fact) => fact.type === "request.resolved")).toMatchObject({
      answer: { allow: true },
      by: { id: "settings-hooks" },
    });
    expect(log.find((fact) => fact.type === "tool.finished")).toMatchObject({ status: "ok" });
    while (!existsSync(join(folder, "note"))) await new Promise((resolve) => setImmediate(resolve));
    expect(JSON.parse(written("note"))).toMatchObject({
      notification_type: "permission_prompt",
      message: "Permission is needed: deploy",
    });
  });

  it("HOOK-05 runs SessionEnd for its sessions when the runtime closes", async () => {
    const one = editor([], plugins(hooks("SessionEnd", undefined, { command: 'cat > "$OUT/end"' })));
    const runtime = await testRuntime({ agents: [one.agent] });
    const run = await runtime.send(one.agent, "Go");
    for await (const { event } of run.events()) if (event.type === "run.finished") break;
    await runtime.close();
    expect(JSON.parse(written("end"))).toMatchObject({
      hook_event_name: "SessionEnd",
      session_id: "ses_1",
      reason: "other",
    });
  });

  it("ends a command when the run is interrupted", async () => {
    const command = "echo $$ > $OUT/pid.new; mv $OUT/pid.new $OUT/pid; exec sleep 303";
    const one = editor([calls("edit", { path: "a" })], plugins(hooks("PreToolUse", undefined, { command })));
    ran.length = 0;
    await using runtime = await testRuntime({ agents: [one.agent] });
    const run = await runtime.send(one.agent, "Go");
    while (!existsSync(join(folder, "pid"))) await new Promise((resolve) => setImmediate(resolve));
    await run.session.interrupt();
    const { reason } = await run.result();
    expect([reason, ran]).toEqual(["interrupted", []]);
    while (alive(written("pid"))) await new Promise((resolve) => setImmediate(resolve));
  });

  it("starts an async command and goes on", async () => {
    const command = 'cat > /dev/null; echo "$$" > "$OUT/async"; exec sleep 302';
    expect(
      await results(plugins(hooks("PreToolUse", undefined, { command, async: true })), calls("edit", { path: "a" })),
    ).toEqual(["edited a"]);
  });

  it("comes to the same end after a crash at every write", async () => {
    const settings = {
      hooks: {
        SessionStart: [{ hooks: [{ type: "command", command: "echo hello" }] }],
        PreToolUse: [{ hooks: [{ type: "command", command: json({ updatedInput: { path: "b" } }) }] }],
        PostToolUse: [{ hooks: [{ type: "command", command: json({ additionalContext: "seen" }) }] }],
      },
    };
    const one = editor([calls("edit", { path: "a" }), { text: "Done." }], plugins(settings));
    const report = await crashSweep({
      agents: [one.agent],
      journey: async (runtime) => (await runtime.send(one.agent, "Go", { idempotencyKey: "1" })).result(),
    });
    expect(report.crashes).toBeGreaterThan(10);
  }, 60_000);
});

describe("settings", () => {
  it("HOOK-13 refuses what it cannot keep, by its place", () => {
    const wrong: readonly (readonly [unknown, RegExp])[] = [
      [[], /the settings must be an object/],
      [{ hooks: { PreTool: [] } }, /hooks\.PreTool is no moment/],
      [{ hooks: { PreToolUse: {} } }, /hooks\.PreToolUse must be a list/],
      [hooks("PreToolUse", "(", { command: "x" }), /no regular expression/],
      [hooks("PreToolUse", "x", { type: "http", command: "x" }), /"http" is not supported/],
      [hooks("PreToolUse", "x", { command: " " }), /command must be text/],
      [hooks("PreToolUse", "x", { command: "x", timeout: 0 }), /timeout must be seconds/],
      [hooks("PreToolUse", "x", { command: "x", if: "Bash(git *)" }), /if is not supported/],
      [hooks("PreToolUse", "x", { command: "x", shell: "powershell" }), /shell must be "bash"/],
    ];
    for (const [settings, message] of wrong) {
      expect(() => settingsHooks(settings)).toThrowError(
        expect.objectContaining({ code: "plugin-invalid", message: expect.stringMatching(message) as string }),
      );
    }
    expect(() => settingsHooks({ hooks: { PreCompact: [] }, model: "x" })).not.toThrow();
    expect(() => settingsHooks({ disableAllHooks: true, hooks: "anything" })).not.toThrow();
  });

  it("HOOK-04 knows the names of other systems", () => {
    const names = [
      "pre_tool_use",
      "preToolUse",
      "tool:before",
      "BeforeTool",
      "tool:error",
      "session:end",
      "PreCompact",
      "hello",
    ];
    expect(names.map(toHookEvent)).toEqual([
      "PreToolUse",
      "PreToolUse",
      "PreToolUse",
      "PreToolUse",
      "PostToolUseFailure",
      "SessionEnd",
      "none",
      undefined,
    ]);
  });
});
