import { readFileSync } from "node:fs";
import { mkdtemp, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fakeClock } from "@capstan/core/testing";
import type { UiChunk } from "@capstan/wire/acp";
import { describe, expect, it } from "vitest";
import { acpClient, type AcpClient, type AcpClientOptions } from "./acp-client.ts";
import type { AcpEvent } from "./acp-events.ts";

const PROGRAM = join(import.meta.dirname, "..", "testing", "scripted-agent.ts");

type World = AsyncDisposable & {
  readonly folder: string;
  readonly events: AcpEvent[];
  readonly chunks: UiChunk[];
  readonly client: AcpClient;
  another(options?: Partial<AcpClientOptions>): AcpClient;
  log(): Promise<readonly string[]>;
};

async function world(options: Partial<AcpClientOptions> = {}, env: Record<string, string> = {}): Promise<World> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "capstan-acp-client-")));
  const events: AcpEvent[] = [];
  const chunks: UiChunk[] = [];
  const made: AcpClient[] = [];
  const another = (more: Partial<AcpClientOptions> = {}): AcpClient => {
    const client = acpClient({
      command: process.execPath,
      args: [PROGRAM],
      cwd: folder,
      env: { AGENT_STORE: folder, ...env },
      onEvent: (event) => events.push(event),
      ...options,
      ...(options.stateFile !== undefined && { stateFile: join(folder, options.stateFile) }),
      ...more,
    });
    client.setUpdateCallback((chunk) => chunks.push(chunk));
    made.push(client);
    return client;
  };
  return {
    folder,
    events,
    chunks,
    client: another(),
    another,
    log: async () => (await readFile(join(folder, "log.txt"), "utf8")).trimEnd().split("\n"),
    async [Symbol.asyncDispose]() {
      for (const client of made) await client.disconnect();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const textOf = (message: { readonly parts: readonly object[] } | undefined): string =>
  (message?.parts ?? [])
    .map((part) => ("text" in part && "type" in part && part.type === "text" ? String(part.text) : ""))
    .join("");
const kinds = (events: readonly AcpEvent[]): readonly string[] => events.map(({ type }) => type);
const opened = (events: readonly AcpEvent[]) =>
  events.flatMap((event) => (event.type === "session.opened" ? [event] : []));
async function until(ready: () => boolean): Promise<void> {
  while (!ready()) await new Promise((resolve) => setImmediate(resolve));
}
/** One that nobody has collected yet has ended all the same. */
function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return !stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z");
  } catch {
    return false;
  }
}

describe("acpClient", { timeout: 60_000 }, () => {
  it("ACP-01 ACP-05 ACP-04 starts an agent, prompts it, and keeps both messages", async () => {
    await using it = await world();
    const { client } = it;
    expect(client.isConnected).toBe(false);
    const end = await client.prompt({ id: "m1", role: "user", parts: [{ type: "text", text: "hello" }] });
    expect(client.isConnected).toBe(true);
    expect(end.stopReason).toBe("end_turn");
    expect(textOf(end.message)).toBe("You said: hello");
    expect(it.chunks.map(({ type }) => type)).toEqual(["start", "text-start", "text-delta", "text-end", "finish"]);
    expect(client.getMessages().map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(client.getLastAssistantMessage()).toEqual(end.message);
    expect(await client.ensureSession()).toBe(await client.ensureSession());
    expect(opened(it.events)).toMatchObject([{ by: "new", failed: [] }]);
  });

  it("SESS-11 owns its messages: adds, updates by id, and refuses ids that are there or are not", async () => {
    await using it = await world();
    const { client } = it;
    client.addMessage({ id: "a", role: "user", parts: [{ type: "text", text: "one" }] });
    expect(() => client.addMessage({ id: "a", role: "user", parts: [] })).toThrow("already");
    client.updateMessage("a", { metadata: { read: true }, parts: [{ type: "text", text: "two" }] });
    expect(client.getMessages()).toEqual([
      { id: "a", role: "user", metadata: { read: true }, parts: [{ type: "text", text: "two" }] },
    ]);
    expect(() => client.updateMessage("b", {})).toThrow("no message");
    const [given] = client.getMessages();
    given?.parts.push({ type: "text", text: "not the store's" });
    expect(client.getMessages()[0]?.parts).toHaveLength(1);
    client.clearMessages();
    expect(client.getMessages()).toEqual([]);
  });

  it("ACP-01 gives the agent an allow-listed environment", async () => {
    await using it = await world();
    process.env["SECRET_OF_THIS_TEST_API_KEY"] = "x";
    const { message } = await it.client
      .prompt("names")
      .finally(() => delete process.env["SECRET_OF_THIS_TEST_API_KEY"]);
    const names = textOf(message).split(",");
    expect(names).toEqual(expect.arrayContaining(["PATH", "AGENT_STORE"]));
    expect(names).not.toContain("SECRET_OF_THIS_TEST_API_KEY");
  });

  it("ACP-01 cancels a prompt", async () => {
    await using it = await world();
    const prompt = it.client.prompt("wait");
    await until(() => it.chunks.some(({ type }) => type === "text-delta"));
    await it.client.cancel();
    expect((await prompt).stopReason).toBe("cancelled");
    expect(it.chunks.at(-1)).toEqual({ type: "abort" });
    expect((await it.client.prompt("again")).stopReason).toBe("end_turn");
  });

  it("ACP-01 ends an agent that does not hear of a cancel, and takes the session up again", async () => {
    const clock = fakeClock();
    await using it = await world({ clock });
    const prompt = it.client.prompt("hang");
    await until(() => it.chunks.some(({ type }) => type === "text-delta"));
    const cancel = it.client.cancel();
    await until(() => clock.pending > 0);
    await clock.advance(10_000);
    expect((await prompt).stopReason).toBe("cancelled");
    await cancel;
    await until(() => kinds(it.events).includes("agent.restarting"));
    await clock.advance(5_000);
    expect(textOf((await it.client.prompt("back")).message)).toBe("You said: back");
    expect(opened(it.events).map(({ by }) => by)).toEqual(["new", "resume"]);
  });

  it("ACP-01 refuses a second prompt, and tells what the agent refused", async () => {
    await using it = await world();
    const first = it.client.prompt("wait");
    await expect(it.client.prompt("x")).rejects.toMatchObject({ code: "session-busy" });
    await until(() => it.chunks.some(({ type }) => type === "text-delta"));
    await it.client.cancel();
    await first;
    await expect(it.client.prompt("fail no way")).rejects.toThrow("no way");
    expect(it.chunks.at(-1)).toEqual({ type: "finish", finishReason: "error" });
  });

  it("ACP-01 tells of a program that is not there, and of one that is no agent", async () => {
    await using it = await world();
    const none = it.another({ command: join(it.folder, "no-such-program"), args: [] });
    await expect(none.connect()).rejects.toMatchObject({ code: "process-failed" });
    const wrong = it.another({ args: ["-e", "console.error('not me'); process.exit(3)"] });
    await expect(wrong.connect()).rejects.toThrow(/code 3.*not me/);
  });

  it("PERM-09 approves nothing by itself unless it was told to", async () => {
    await using it = await world();
    expect(textOf((await it.client.prompt("ask a.txt")).message)).toBe("no");
    expect(it.client.permissions()).toMatchObject([
      { title: "Write a.txt", kind: "edit", allowed: false, by: "nobody" },
    ]);
    expect(kinds(it.events)).toContain("permission.answered");
    expect(it.chunks.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["tool-approval-request", "tool-approval-response"]),
    );
  });

  it("PERM-09 approves by rules: of a kind, within a folder, so many times, never an always", async () => {
    await using it = await world({ permission: { allow: [{ kind: "edit", within: "inside" }], atMost: 2 } });
    const { message } = await it.client.prompt("asks inside/a outside/b inside/../c inside/d inside/e");
    expect(textOf(message)).toBe("yes,no,no,yes,no");
    expect(it.client.permissions().map(({ by }) => by)).toEqual(["rule", "nobody", "nobody", "rule", "limit"]);
  });

  it("PERM-09 asks a function, and takes a failure for a no", async () => {
    const seen: string[] = [];
    const allow = ({ toolCall }: { readonly toolCall: { readonly title?: string | null } }): boolean => {
      seen.push(toolCall.title ?? "");
      if (seen.length === 2) throw new Error("no idea");
      return true;
    };
    await using it = await world({ permission: { allow } });
    expect(textOf((await it.client.prompt("asks a b c")).message)).toBe("yes,no,yes");
    expect(seen).toEqual(["Write a", "Write b", "Write c"]);
  });

  it("PERM-09 answers what is asked as cancelled when the prompt is", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await using it = await world({
      permission: {
        allow: () => {
          resolve();
          return new Promise<boolean>(() => undefined);
        },
      },
    });
    const prompt = it.client.prompt("ask a.txt");
    await promise;
    await it.client.cancel();
    expect((await prompt).stopReason).toBe("cancelled");
    expect(it.client.permissions()).toMatchObject([{ allowed: false, by: "cancel" }]);
  });

  it("ACP-02 ACP-03 resumes in a new process when the messages were kept", async () => {
    await using it = await world({ stateFile: "state/session.json", persistMessages: true });
    await it.client.prompt("first");
    await it.client.disconnect();
    expect((await stat(join(it.folder, "state/session.json"))).mode & 0o777).toBe(0o600);
    const later = it.another();
    expect(textOf((await later.prompt("second")).message)).toBe("You said: second");
    expect(later.getMessages().map(textOf)).toEqual(["first", "You said: first", "second", "You said: second"]);
    expect(opened(it.events).map(({ by }) => by)).toEqual(["new", "resume"]);
  });

  it("ACP-02 ACP-03 loads when they were not, and captures what the agent shows of the past", async () => {
    await using it = await world({ stateFile: "session.json" });
    await it.client.prompt("first");
    await it.client.prompt("ask a.txt");
    await it.client.disconnect();
    const later = it.another();
    await later.ensureSession();
    expect(opened(it.events).map(({ by }) => by)).toEqual(["new", "load"]);
    expect(later.getMessages().map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(later.getMessages().map(textOf)).toEqual(["first", "You said: first", "ask a.txt", "no"]);
    expect(later.getMessages()[3]?.parts[0]).toMatchObject({ type: "dynamic-tool", state: "output-error" });
    expect(JSON.parse(await readFile(join(it.folder, "session.json"), "utf8"))).not.toHaveProperty("messages");
  });

  it("ACP-02 falls from resume to load to a new session, and says which it was and why", async () => {
    await using it = await world(
      { stateFile: "session.json", persistMessages: true },
      { AGENT_CAN: "load,resume,broken-resume" },
    );
    await it.client.prompt("first");
    await it.client.disconnect();
    const loaded = it.another();
    await loaded.ensureSession();
    expect(opened(it.events).at(-1)).toMatchObject({ by: "load", failed: [{ by: "resume" }] });
    await loaded.disconnect();
    const broken = it.another({ env: { AGENT_STORE: it.folder, AGENT_CAN: "load,resume,broken-resume,broken-load" } });
    await broken.ensureSession();
    expect(opened(it.events).at(-1)).toMatchObject({ by: "new", failed: [{ by: "resume" }, { by: "load" }] });
    expect(broken.getMessages()).toEqual([]);
  });

  it("ACP-02 begins anew after clearSession", async () => {
    await using it = await world({ stateFile: "session.json" });
    const before = await it.client.ensureSession();
    await it.client.clearSession();
    expect(await it.client.ensureSession()).not.toBe(before);
    expect(opened(it.events).map(({ by }) => by)).toEqual(["new", "new"]);
  });

  it("ACP-03 leaves a file alone that is something else", async () => {
    await using it = await world({ stateFile: "session.json" });
    await writeFile(join(it.folder, "session.json"), "{ not json");
    await expect(it.client.ensureSession()).rejects.toMatchObject({ code: "config-invalid" });
    await it.client.disconnect();
    expect(await readFile(join(it.folder, "session.json"), "utf8")).toBe("{ not json");
  });

  it("ACP-03 takes the default for keeping messages from the environment", async () => {
    process.env["PERSIST_MESSAGES"] = "true";
    try {
      await using it = await world({ stateFile: "session.json" });
      await it.client.prompt("first");
      expect(JSON.parse(await readFile(join(it.folder, "session.json"), "utf8"))).toMatchObject({
        messages: [{ role: "user" }, { role: "assistant" }],
      });
    } finally {
      delete process.env["PERSIST_MESSAGES"];
    }
    expect(() => acpClient({ command: "x", cwd: "/", persistMessages: true })).toThrow("stateFile");
  });

  it("LOOP-32 starts the agent again with the changed environment, in the same session", async () => {
    await using it = await world({ stateFile: "session.json" });
    expect(textOf((await it.client.prompt("env FLAVOUR")).message)).toBe("(none)");
    const before = await it.client.ensureSession();
    await it.client.updateEnvironment({ FLAVOUR: "plum" });
    expect(it.client.getEnvironment()).toMatchObject({ FLAVOUR: "plum" });
    expect(textOf((await it.client.prompt("env FLAVOUR")).message)).toBe("plum");
    expect(await it.client.ensureSession()).toBe(before);
    await it.client.updateEnvironment({ FLAVOUR: undefined });
    expect(textOf((await it.client.prompt("env FLAVOUR")).message)).toBe("(none)");
    expect(kinds(it.events)).not.toContain("agent.lost");
    expect(it.client.getMessages()).toHaveLength(6);
  });

  it("DUR-14 starts an agent again that crashed in mid-prompt, and goes on with its session", async () => {
    await using it = await world();
    await it.client.prompt("first");
    const lost = it.client.prompt("crash");
    await expect(lost).rejects.toMatchObject({ code: "process-failed", retryable: true });
    await expect(lost).rejects.toThrow(/code 7.*it broke/);
    expect(textOf((await it.client.prompt("after")).message)).toBe("You said: after");
    expect(opened(it.events).map(({ by }) => by)).toEqual(["new", "resume"]);
    expect(kinds(it.events)).toEqual(expect.arrayContaining(["agent.lost", "agent.restarting"]));
    expect(it.client.getMessages().map(textOf)).toContain("Going down");
  });

  it("DUR-14 takes up the session of an agent that was killed, in a new process", async () => {
    await using it = await world({ stateFile: "session.json" });
    const prompt = it.client.prompt("hang");
    await until(() => it.chunks.some(({ type }) => type === "text-delta"));
    const started = it.events.find((event) => event.type === "agent.started");
    process.kill(started?.type === "agent.started" ? started.pid : 0, "SIGKILL");
    await expect(prompt).rejects.toThrow("SIGKILL");
    await it.client.disconnect();
    const later = it.another();
    expect(textOf((await later.prompt("later")).message)).toBe("You said: later");
    expect(opened(it.events).at(-1)?.by).toBe("load");
    expect(later.getMessages().map(textOf)).toEqual(["hang", "Hanging", "later", "You said: later"]);
  });

  it("DUR-14 gives up when it is lost too often", async () => {
    const clock = fakeClock();
    await using it = await world({ clock });
    for (let round = 1; round <= 4; round += 1) {
      await expect(it.client.prompt("crash")).rejects.toMatchObject({ code: "process-failed" });
      await until(() => kinds(it.events).filter((type) => type === "agent.lost").length === round);
      if (round < 4) await until(() => clock.pending > 0);
      await clock.advance(1_000);
    }
    expect(it.events.flatMap((event) => (event.type === "agent.restarting" ? [event.delayMs] : []))).toEqual([
      250, 500, 1_000,
    ]);
    expect(kinds(it.events).at(-1)).toBe("agent.given-up");
    expect(it.client.isConnected).toBe(false);
  });

  it("ACP-01 leaves no process behind: not a stubborn one, nor one in a session of its own", async () => {
    if (process.platform !== "linux") return;
    const clock = fakeClock();
    await using it = await world({ clock }, { AGENT_STUBBORN: "1" });
    const end = await it.client.prompt("grandchild");
    const pid = Number(textOf(end.message));
    const started = it.events.find((event) => event.type === "agent.started");
    const agentPid = started?.type === "agent.started" ? started.pid : 0;
    expect([isAlive(pid), isAlive(agentPid)]).toEqual([true, true]);
    let isOver = false;
    const ended = it.client.disconnect().finally(() => (isOver = true));
    while (!isOver) await clock.advance(500);
    await ended;
    await until(() => !isAlive(pid) && !isAlive(agentPid));
  });
});
