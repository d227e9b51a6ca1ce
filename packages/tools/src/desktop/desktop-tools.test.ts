import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { agent, callFacts, evaluate, type Tool } from "@capstan/core";
import { scriptedModel, testRuntime } from "@capstan/core/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { temporaryWorkspace, type TemporaryWorkspace } from "../temporary-workspace.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";
import type { DesktopAnswer, DesktopTask } from "./desktop-program.ts";
import { desktopTools, desktopToolsOf } from "./desktop-tools.ts";
import { DESKTOP_LIMITS } from "./limits.ts";
import { desktopRunner } from "./run-desktop.ts";

vi.setConfig({ testTimeout: 60_000 });
const GIF = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");

let at: TemporaryWorkspace;
beforeEach(async () => {
  at = await temporaryWorkspace();
});
afterEach(async () => {
  expect(at.processes()).toEqual([]);
  await at.close();
});

const named = (tools: readonly Tool[], name: string): Tool => {
  const found = tools.find((tool) => tool.name === name);
  if (found === undefined) throw new Error(`no tool ${name}`);
  return found;
};
/** Tools over a desktop that answers so, and what it was asked. */
function scripted(answer: DesktopAnswer) {
  const tasks: DesktopTask[] = [];
  const tools = desktopToolsOf(async (task) => {
    tasks.push(task);
    return answer;
  });
  return { tasks, say: (name: string, input: unknown) => at.say(named(tools, name), input) };
}
/** Tools over a program of the test's own, on a desktop that seems to be there. */
function programmed(source: string, ms?: number) {
  at.write("program.mjs", source);
  const run = desktopRunner({
    program: join(at.root, "program.mjs"),
    env: { ...process.env, DISPLAY: ":99" },
    ...(ms && { ms }),
  });
  return desktopToolsOf(run);
}
const answering = (answer: string): string => `process.once("message", (task) => process.send(${answer}))`;

describe("desktopTools", () => {
  it("TOOL-33 TOOL-34 TOOL-35 ask unless a rule allows them", () => {
    const inputs: { readonly [name: string]: object } = {
      get_system_info: {},
      open_in_default_app: { target: "a.txt" },
      read_clipboard: {},
      write_clipboard: { text: "x" },
      capture_screenshot: {},
    };
    for (const [name, input] of Object.entries(inputs)) {
      const facts = callFacts(named(desktopTools(), name), input, at.root);
      expect([name, evaluate(facts, { mode: "ask", tiers: [] }).verdict]).toEqual([name, "ask"]);
      expect([name, evaluate(facts, { mode: "never-ask", tiers: [] }).verdict]).toEqual([name, "deny"]);
    }
    const look = callFacts(named(desktopTools(), "analyze_image"), { path: "a.png" }, at.root);
    expect(evaluate(look, { mode: "ask", tiers: [] }).verdict).toBe("allow");
    const outside = callFacts(named(desktopTools(), "analyze_image"), { path: "/etc/a.png" }, at.root);
    expect(evaluate(outside, { mode: "ask", tiers: [] }).verdict).toBe("ask");
  });

  it("TOOL-33 tells what system it is, by the real program, without what names the machine", async () => {
    const said = await at.say(named(desktopTools(), "get_system_info"), {});
    expect(said).toMatch(/^System: .*\nProcessor: .* cores\nMemory: [\d.]+ GB, [\d.]+ GB available/);
    expect(said).not.toMatch(/serial|uuid|[0-9a-f]{2}(?::[0-9a-f]{2}){5}/i);
  });

  it("TOOL-33 opens pages, files and folders of the workspace, and nothing that would run", async () => {
    at.write("doc.txt", "x");
    at.write("run.desktop", "[Desktop Entry]");
    mkdirSync(join(at.root, "folder.app"));
    symlinkSync("run.desktop", join(at.root, "link.txt"));
    const { say, tasks } = scripted({});
    expect(await say("open_in_default_app", { target: "doc.txt" })).toBe("Opened doc.txt.");
    expect(await say("open_in_default_app", { target: "HTTPS://example.com/a b" })).toContain("Opened");
    for (const target of [
      "run.desktop",
      "folder.app",
      "link.txt",
      "../work-evil/secret.txt",
      "/etc/passwd",
      "missing",
      "file:///etc/passwd",
      "javascript:alert(1)",
      "https://user:pass@example.com/",
      "--help",
    ])
      expect([target, await say("open_in_default_app", { target })]).toEqual([
        target,
        expect.stringMatching(/^ERROR /),
      ]);
    expect(tasks).toEqual([
      { type: "open", target: join(at.root, "doc.txt") },
      { type: "open", target: "https://example.com/a%20b" },
    ]);
  });

  it("TOOL-34 reads and writes the clipboard within bounds", async () => {
    const long = scripted({ text: "x".repeat(DESKTOP_LIMITS.shownCharacters + 5) });
    expect(await long.say("read_clipboard", {})).toMatch(/x\n\[5 more characters\]$/);
    expect(await scripted({}).say("read_clipboard", {})).toBe("The clipboard holds no text.");
    const { say, tasks } = scripted({});
    expect(await say("write_clipboard", { text: "héllo" })).toBe("5 characters are on the clipboard.");
    expect(tasks).toEqual([{ type: "write-clipboard", text: "héllo" }]);
    await expect(say("write_clipboard", { text: "x".repeat(DESKTOP_LIMITS.writtenCharacters + 1) })).rejects.toThrow();
  });

  it("TOOL-35 shows a screenshot and images of the workspace as images", async () => {
    const shot = await at.call(
      named(
        desktopToolsOf(async () => ({ base64: GIF.toString("base64") })),
        "capture_screenshot",
      ),
      {},
    );
    expect(shot.content[1]).toMatchObject({
      type: "file",
      mediaType: "image/gif",
      data: { base64: GIF.toString("base64") },
    });
    expect(await scripted({ base64: "bm8=" }).say("capture_screenshot", {})).toBe(
      "ERROR screenshot.png is no PNG, JPEG, GIF or WebP image.",
    );
    at.write("a.gif", GIF);
    at.write("b.txt", "text");
    at.write("big.gif", Buffer.concat([GIF, Buffer.alloc(TOOL_LIMITS.imageBytes)]));
    const looked = await at.call(named(desktopTools(), "analyze_image"), { path: "a.gif", question: "What is it?" });
    expect(looked.content.map((part) => part.type)).toEqual(["text", "file", "text"]);
    expect(looked.content[2]).toEqual({ type: "text", text: "To be answered from the image: What is it?" });
    for (const path of ["b.txt", "big.gif", "no.gif", "../work-evil/secret.txt"])
      expect([path, await at.say(named(desktopTools(), "analyze_image"), { path })]).toEqual([
        path,
        expect.stringMatching(/^ERROR /),
      ]);
  });

  it("says in words what a desktop lacks", async () => {
    const none = desktopToolsOf(desktopRunner({ env: { PATH: process.env["PATH"] } }));
    if (process.platform === "linux")
      for (const name of ["read_clipboard", "capture_screenshot"])
        expect(await at.say(named(none, name), {})).toMatch(/^ERROR .*: this machine shows no desktop here\.$/);
    const absent = desktopToolsOf(desktopRunner({ env: { ...process.env, DISPLAY: ":99" } }));
    expect(await at.say(named(absent, "read_clipboard"), {})).toMatch(/^ERROR The clipboard could not be read: /);
    expect(await at.say(named(absent, "capture_screenshot"), {})).toMatch(/^ERROR No screenshot could be taken: /);
  });

  it("G11 G24 G13 a program that hangs, crashes or answers nonsense is an error", async () => {
    const hangs = programmed("setInterval(() => {}, 1e6)", 300);
    expect(await at.say(named(hangs, "read_clipboard"), {})).toBe(
      "ERROR The clipboard could not be read: it took longer than 0.3 seconds.",
    );
    const crashes = programmed("process.abort()");
    expect(await at.say(named(crashes, "read_clipboard"), {})).toMatch(/its program ended with/);
    const nonsense = programmed(answering("{ text: 7 }"));
    expect(await at.say(named(nonsense, "read_clipboard"), {})).toMatch(/something that is no answer/);
    const leaves = programmed(
      `import { spawn } from "node:child_process"; spawn("sleep", ["1000000"], { stdio: "ignore", cwd: ${JSON.stringify("/")} });` +
        answering('{ error: "no luck\\u202e" }'),
    );
    expect(await at.say(named(leaves, "read_clipboard"), {})).toBe("ERROR The clipboard could not be read: no luck.");
  });

  it("G23 gives the program no secret of this process", async () => {
    const env = { ...process.env, DISPLAY: ":99", ANTHROPIC_API_KEY: "sk-secret", GITHUB_TOKEN: "ghp" };
    at.write("program.mjs", answering("{ text: JSON.stringify(Object.keys(process.env)) }"));
    const tools = desktopToolsOf(desktopRunner({ program: join(at.root, "program.mjs"), env }));
    const said = await at.say(named(tools, "read_clipboard"), {});
    expect(said).toContain('"DISPLAY"');
    expect(said).not.toMatch(/KEY|TOKEN|SECRET/);
  });

  it("runs in a run, once it is allowed", async () => {
    const model = scriptedModel([{ calls: [{ name: "read_clipboard", input: {} }] }, { text: "Done." }]);
    const tools = desktopToolsOf(async () => ({ text: "from the clipboard" }));
    const helper = agent({ name: "helper", model, instructions: "Help.", tools });
    await using runtime = await testRuntime({ agents: [helper], permission: { allow: ["read_clipboard"] } });
    const run = await runtime.send("helper", "Go");
    const statuses: string[] = [];
    for await (const { event } of run.events()) if (event.type === "tool.finished") statuses.push(event.status);
    expect(statuses).toEqual(["ok"]);
  });
});
