import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { remoteRuntime } from "./client.ts";
import { COMMAND, type CommandHome, commandHome, LIBRARY, TESTING } from "./command-child.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- looked into by the tests
type Line = { readonly type: string; readonly id?: unknown; readonly [field: string]: any };

/** An agent that asks before it pays, writes where its tool should not, and may be held in the middle of an answer. */
const CONFIG = `
import { agent, tool, config } from ${JSON.stringify(LIBRARY)};
import { scriptedModel } from ${JSON.stringify(TESTING)};
const pay = tool({
  name: "pay", description: "Pays.", input: { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }), jsonSchema: { input: () => ({ type: "object" }) } } },
  permission: "ask", rerun: "keyed",
  execute: () => { console.log("stray output of a dependency"); process.stdout.write("more of it\\n"); return "paid"; },
});
const hold = process.env.HOLD === "1" ? new Promise(() => setInterval(() => undefined, 1000)) : undefined;
const model = scriptedModel([{ text: "I pay.", calls: [{ name: "pay", input: { cents: 5 } }] }, { text: "Done and done.", ...(hold && { hold }) }, { text: "Hello again." }]);
export default config({ agents: [agent({ name: "clerk", model, instructions: "Pay.", tools: [pay] })] });
`;

type Shell = {
  readonly child: ChildProcessWithoutNullStreams;
  readonly lines: readonly Line[];
  readonly text: () => string;
  ask(request: { readonly id: unknown; readonly [field: string]: unknown }): Promise<Line>;
  line(is: (line: Line) => boolean): Promise<Line>;
};

/** What a desktop program does with its sidecar. */
function sidecar(home: CommandHome, env: Readonly<Record<string, string>> = {}): Shell {
  const [program = "", ...args] = COMMAND;
  const child = spawn(program, [...args, "stdio", "--config", join(home.folder, "config.mjs")], {
    cwd: home.folder,
    env: { ...home.env, ...env },
  });
  const lines: Line[] = [];
  const waiting = new Set<() => void>();
  let text = "";
  child.stdin.on("error", () => undefined);
  child.stderr.resume();
  child.stdout.on("data", (piece: Buffer) => (text += piece.toString()));
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(JSON.parse(line) as Line);
    for (const wake of waiting) wake();
  });
  const line = async (is: (line: Line) => boolean): Promise<Line> => {
    for (;;) {
      const found = lines.find(is);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => waiting.add(resolve));
    }
  };
  return {
    child,
    lines,
    text: () => text,
    line,
    ask(request) {
      child.stdin.write(`${JSON.stringify(request)}\n`);
      return line(({ id, type }) => id === request.id && (type === "done" || type === "error"));
    },
  };
}

describe("capstan stdio", { timeout: 60_000 }, () => {
  it("STREAM-08 SESS-12 is a desktop program's sidecar: it keeps conversations in SQLite through kills, and stdout is protocol only", async () => {
    await using home = await commandHome();
    await writeFile(join(home.folder, "config.mjs"), CONFIG);
    const first = sidecar(home, { HOLD: "1" });
    expect(await first.line(() => true)).toMatchObject({ type: "ready", protocol: 2 });
    const made = await first.ask({ id: "new", kind: "new_conversation", title: "Bills" });
    const { conversation_id } = made["data"].conversation;
    first.child.stdin.write(`${JSON.stringify({ id: "m1", kind: "user_message", message: "Pay the bill" })}\n`);
    const request = await first.line(({ type }) => type === "permission_request");
    // the program goes away while its person thinks
    first.child.kill("SIGKILL");
    await once(first.child, "close");

    const second = sidecar(home, { HOLD: "1" });
    const open = await second.ask({ id: "open", kind: "list_requests" });
    expect(open["data"].requests.map(({ requestId }: { requestId: string }) => requestId)).toEqual([
      request["request_id"],
    ]);
    const loaded = await second.ask({ id: "load", kind: "load_conversation", conversation_id });
    second.child.stdin.write(
      `${JSON.stringify({ id: "sub", kind: "subscribe", conversation_id, cursor: loaded["data"].cursor })}\n`,
    );
    await second.ask({
      id: "yes",
      kind: "respond",
      request_id: request["request_id"],
      answer: { type: "permission", allow: true },
    });
    await second.line(({ id, type }) => id === "sub" && type === "tool_result");
    await second.line(({ id, type }) => id === "sub" && type === "token");
    second.child.kill("SIGKILL"); // in the middle of the answer
    await once(second.child, "close");

    const third = sidecar(home);
    const listed = await third.ask({ id: "list", kind: "list_conversations" });
    expect(listed["data"].conversations).toMatchObject([{ conversation_id, title: "Bills", agent: "clerk" }]);
    third.child.stdin.write(`${JSON.stringify({ id: "sub", kind: "subscribe", conversation_id })}\n`);
    await third.line(({ id, type, token }) => id === "sub" && type === "token" && String(token).includes("done."));
    const again = await third.ask({ id: "m2", kind: "user_message", message: "Hello", conversation_id });
    expect(again).toMatchObject({ type: "done", reason: "end-turn" });
    const whole = await third.ask({ id: "load", kind: "load_conversation", conversation_id });
    const said = whole["data"].messages.flatMap(({ parts }: Line) =>
      parts.flatMap((part: Line) => (part.type === "text" ? [part["text"]] : [])),
    );
    expect(said).toEqual(["Pay the bill", "I pay.", "Done and done.", "Hello", "Hello again."]);
    expect((await third.ask({ id: "del", kind: "delete_conversation", conversation_id })).type).toBe("done");
    expect((await third.ask({ id: "list2", kind: "list_conversations" }))["data"].conversations).toEqual([]);
    third.child.stdin.end();
    expect(await once(third.child, "close")).toEqual([0, null]);
    for (const shell of [first, second, third]) expect(shell.text()).not.toContain("stray");
    expect((await stat(join(home.home, "capstan.db"))).isFile()).toBe(true);
  });

  it("says on stderr why it cannot start, and nothing on stdout", async () => {
    await using home = await commandHome();
    const { code, stdout, stderr } = await home.run(["stdio", "--agent", "nobody"]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("agent-unknown");
  });
});

describe("capstan serve", { timeout: 60_000 }, () => {
  it("STREAM-05 serves whoever brings the token of its private file, and ends in good order", async () => {
    await using home = await commandHome();
    const [program = "", ...args] = COMMAND;
    const child = spawn(program, [...args, "serve", "--agent", "demo", "--port", "0"], {
      cwd: home.folder,
      env: { ...home.env, CAPSTAN_TOKEN: "a-token-for-the-test" },
    });
    let stderr = "";
    child.stderr.on("data", (piece: Buffer) => (stderr += piece.toString()));
    const [first] = (await once(child.stdout, "data")) as [Buffer];
    const url = first.toString().trim();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await fetch(`${url}/sessions`)).status).toBe(401);
    expect((await fetch(`${url}/sessions?token=a-token-for-the-test`)).status).toBe(401);
    await expect(remoteRuntime(url, { token: "a-token-for-the-tesT" }).sessions()).rejects.toMatchObject({
      code: "permission-denied",
    });
    await using remote = remoteRuntime(url, { token: "a-token-for-the-test" });
    const run = await remote.send("demo", "Hello");
    expect((await run.result()).reason).toBe("end-turn");
    expect(await remote.sessions()).toHaveLength(1);
    child.kill("SIGTERM");
    expect(await once(child, "close")).toEqual([0, null]);
    expect(stderr).not.toContain("a-token-for-the-test");
  });

  it("makes a token that nobody else can read, and refuses one that could be guessed", async () => {
    await using home = await commandHome();
    const weak = await home.run(["serve", "--agent", "demo", "--port", "0"], { env: { CAPSTAN_TOKEN: "1234" } });
    expect([weak.code, weak.stdout]).toEqual([2, ""]);
    const [program = "", ...args] = COMMAND;
    const child = spawn(program, [...args, "serve", "--agent", "demo", "--port", "0"], {
      cwd: home.folder,
      env: home.env,
    });
    child.stderr.resume();
    await once(child.stdout, "data");
    expect((await stat(join(home.home, "serve.token"))).mode & 0o777).toBe(0o600);
    child.kill("SIGINT");
    expect(await once(child, "close")).toEqual([0, null]);
  });
});
