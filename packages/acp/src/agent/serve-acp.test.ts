import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import {
  client as acpClient,
  type ClientCapabilities,
  type ClientContext,
  methods,
  ndJsonStream,
  type PromptResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { Readable, Writable } from "node:stream";
import {
  agent,
  type AgentDefinition,
  memoryStore,
  type MemoryStore,
  openRuntime,
  type PermissionMode,
  type Runtime,
  storeEngine,
  systemClock,
  systemIds,
  tool,
  jsonSchema,
  type Workspace,
} from "@capstan/core";
import { scriptedModel, type ScriptedReply } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { type AcpDoor, serveAcp } from "./serve-acp.ts";
import type { ServeAcpOptions } from "./serve-options.ts";

type Ask = (request: RequestPermissionRequest) => Promise<RequestPermissionResponse> | RequestPermissionResponse;
type Shown = { readonly sessionId: string; readonly update: SessionUpdate };
type World = AsyncDisposable & {
  readonly store: MemoryStore;
  readonly runtime: Runtime;
  readonly folder: string;
  readonly door: AcpDoor;
  readonly editor: ClientContext;
  readonly shown: Shown[];
  readonly asked: RequestPermissionRequest[];
  readonly log: string[];
  readonly input: PassThrough;
  /** Updates of a kind. */
  of<Kind extends SessionUpdate["sessionUpdate"]>(
    kind: Kind,
  ): readonly Extract<SessionUpdate, { sessionUpdate: Kind }>[];
  said(): string;
};
type Setup = {
  readonly turns?: readonly ScriptedReply[];
  readonly definition?: Partial<AgentDefinition>;
  readonly ask?: Ask;
  readonly options?: Partial<ServeAcpOptions>;
  readonly capabilities?: ClientCapabilities;
  readonly store?: MemoryStore;
  readonly folder?: string;
  readonly elicit?: (params: unknown) => unknown;
  readonly mode?: PermissionMode;
};

const runs: string[] = [];
const write = tool<{ readonly path: string }>({
  name: "note",
  description: "Writes a note.",
  input: jsonSchema<{ readonly path: string }>({
    type: "object",
    properties: { path: { type: "string" } },
    required: ["path"],
  }),
  kind: "edit",
  permission: "ask",
  title: ({ path }) => `Note ${path}`,
  needs: ({ path }) => [{ type: "write", path }],
  execute: ({ path }) => {
    runs.push(path);
    return { content: [{ type: "diff", path, before: "a\n", after: "b\n" }] };
  },
});

function place(root: string): Workspace {
  const no = (): never => {
    throw new Error("not in this test");
  };
  return {
    kind: "local",
    root,
    confinement: "none",
    resolve: (path) => join(root, path),
    realPaths: async (paths) => paths.map((path) => join(root, path)),
    stat: no,
    read: no,
    write: no,
    list: no,
    run: no,
    close: async () => undefined,
  };
}

async function world(setup: Setup = {}): Promise<World> {
  const { turns = [], store = memoryStore(), options = {}, capabilities = {} } = setup;
  const folder = setup.folder ?? (await realpath(await mkdtemp(join(tmpdir(), "capstan-acp-"))));
  const guide = agent({
    name: "guide",
    model: scriptedModel(turns, { capabilities: { contextTokens: 1_000 } }),
    instructions: "Guide.",
    tools: [write],
    ...setup.definition,
  });
  const clock = systemClock;
  const ids = systemIds(() => clock.now());
  const runtime = await openRuntime({
    agents: [guide],
    engine: storeEngine(store, { clock, ids }),
    workspaces: { local: async (root) => place(root) },
  });
  const [input, output] = [new PassThrough(), new PassThrough()];
  const log: string[] = [];
  const door = serveAcp({ runtime, agent: guide, input, output, log: (line) => log.push(line), ...options });
  const shown: Shown[] = [];
  const asked: RequestPermissionRequest[] = [];
  const app = acpClient({ name: "editor" })
    .onNotification(methods.client.session.update, ({ params }) => void shown.push(params))
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      asked.push(params);
      return setup.ask?.(params) ?? { outcome: { outcome: "cancelled" } };
    })
    .onRequest(
      methods.client.elicitation.create,
      ({ params }) => (setup.elicit?.(params) ?? { action: "cancel" }) as never,
    );
  const connection = app.connect(
    ndJsonStream(
      Writable.toWeb(input) as WritableStream<Uint8Array>,
      Readable.toWeb(output) as ReadableStream<Uint8Array>,
    ),
  );
  await connection.agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: capabilities });
  const of: World["of"] = (kind) =>
    shown.flatMap(({ update }) => (update.sessionUpdate === kind ? [update as never] : []));
  return {
    store,
    runtime,
    folder,
    door,
    editor: connection.agent,
    shown,
    asked,
    log,
    input,
    of,
    said: () =>
      of("agent_message_chunk")
        .map(({ content }) => (content.type === "text" ? content.text : ""))
        .join(""),
    async [Symbol.asyncDispose]() {
      connection.close();
      await door.close();
      await runtime.close({ graceMs: 0 });
      if (setup.folder === undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}

async function begun({ editor, folder }: World): Promise<string> {
  const { sessionId } = await editor.request(methods.agent.session.new, { cwd: folder, mcpServers: [] });
  return sessionId;
}
function prompted({ editor }: World, sessionId: string, text: string): Promise<PromptResponse> {
  return editor.request(methods.agent.session.prompt, { sessionId, prompt: say(text) });
}
const say = (text: string) => [{ type: "text" as const, text }];
const noteCall = (path = "a.txt") => ({ text: "I write.", calls: [{ name: "note", input: { path } }] });

describe("serveAcp", () => {
  it("ACP-06 says what it is and speaks version 1 whatever is asked for", async () => {
    await using it = await world();
    const answer = await it.editor.request(methods.agent.initialize, { protocolVersion: 7, clientCapabilities: {} });
    expect(answer).toMatchObject({
      protocolVersion: 1,
      agentInfo: { name: "capstan" },
      agentCapabilities: { loadSession: true, sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} } },
    });
  });

  it("ACP-06 streams what the model says and ends the turn with a reason", async () => {
    await using it = await world({ turns: [{ reasoning: "Hm.", text: "Hello there." }] });
    const sessionId = await begun(it);
    const { stopReason } = await prompted(it, sessionId, "Hi");
    expect(stopReason).toBe("end_turn");
    expect(it.said()).toBe("Hello there.");
    expect(
      it
        .of("agent_thought_chunk")
        .map(({ content }) => (content.type === "text" ? content.text : ""))
        .join(""),
    ).toBe("Hm.");
    expect(it.of("user_message_chunk")).toEqual([]);
    expect(it.of("usage_update").at(-1)).toMatchObject({ size: 1_000 });
  });

  it("ACP-06 asks for permission, keeps to the answer, and shows the call with its diff", async () => {
    await using it = await world({
      turns: [noteCall(), { text: "Done." }],
      ask: () => ({ outcome: { outcome: "selected", optionId: "allow" } }),
    });
    const sessionId = await begun(it);
    const { stopReason } = await prompted(it, sessionId, "Write");
    expect(stopReason).toBe("end_turn");
    const [asked] = it.asked;
    expect(asked?.options.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(["allow_once", "allow_always", "reject_once"]),
    );
    const id = asked?.toolCall.toolCallId;
    expect(it.of("tool_call")).toMatchObject([{ toolCallId: id, status: "pending" }]);
    const updates = it.of("tool_call_update");
    expect(updates.find(({ status }) => status === "in_progress")).toMatchObject({
      toolCallId: id,
      kind: "edit",
      title: "Note a.txt",
      locations: [{ path: join(it.folder, "a.txt") }],
    });
    expect(updates.at(-1)).toMatchObject({
      status: "completed",
      content: [{ type: "diff", path: join(it.folder, "a.txt"), oldText: "a\n", newText: "b\n" }],
    });
  });

  it.each([
    ["rejected", { outcome: { outcome: "selected", optionId: "reject" } }],
    ["cancelled", { outcome: { outcome: "cancelled" } }],
    ["of an unknown option", { outcome: { outcome: "selected", optionId: "yes" } }],
    ["of an unknown kind", { outcome: { outcome: "granted", optionId: "allow" } }],
    ["empty", {}],
  ])("ACP-06 takes an outcome that is %s for a refusal", async (_name, answer) => {
    await using it = await world({
      turns: [noteCall("never.txt"), { text: "As you say." }],
      ask: () => answer as never,
    });
    const sessionId = await begun(it);
    const { stopReason } = await prompted(it, sessionId, "Write");
    expect(stopReason).toBe("end_turn");
    expect(runs).not.toContain("never.txt");
    expect(it.of("tool_call_update").at(-1)).toMatchObject({ status: "failed" });
  });

  it("ACP-06 remembers an always for the session", async () => {
    await using it = await world({
      turns: [noteCall("one.txt"), noteCall("one.txt"), { text: "Done." }],
      ask: ({ options }) => ({
        outcome: { outcome: "selected", optionId: options.find(({ kind }) => kind === "allow_always")?.optionId ?? "" },
      }),
    });
    const sessionId = await begun(it);
    await prompted(it, sessionId, "Write twice");
    expect(it.asked).toHaveLength(1);
    expect(it.of("tool_call_update").filter(({ status }) => status === "completed")).toHaveLength(2);
  });

  it("ACP-06 ends a prompt as cancelled, also while a permission is asked, and takes the question back", async () => {
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const { promise: never } = Promise.withResolvers<RequestPermissionResponse>();
    await using it = await world({
      turns: [noteCall("cancelled.txt"), { text: "Not here." }],
      ask: () => {
        resolve();
        return never;
      },
    });
    const sessionId = await begun(it);
    const prompt = it.editor.request(methods.agent.session.prompt, { sessionId, prompt: say("Write") });
    await asked;
    await it.editor.notify(methods.agent.session.cancel, { sessionId });
    expect(await prompt).toEqual({ stopReason: "cancelled" });
    expect(runs).not.toContain("cancelled.txt");
    expect(it.of("tool_call_update").at(-1)).toMatchObject({ status: "failed" });
  });

  it("ACP-06 cancels prompts that wait their turn too", async () => {
    const { promise: held } = Promise.withResolvers<void>();
    await using it = await world({ turns: [{ text: "Long.", hold: held }] });
    const sessionId = await begun(it);
    const first = it.editor.request(methods.agent.session.prompt, { sessionId, prompt: say("One") });
    const second = it.editor.request(methods.agent.session.prompt, { sessionId, prompt: say("Two") });
    while (it.said() === "") await new Promise((resolve) => setImmediate(resolve));
    await it.editor.notify(methods.agent.session.cancel, { sessionId });
    expect(await Promise.all([first, second])).toEqual([{ stopReason: "cancelled" }, { stopReason: "cancelled" }]);
  });

  it("ACP-06 lists, loads and resumes sessions; loading shows all that was said", async () => {
    const store = memoryStore();
    const folder = await realpath(await mkdtemp(join(tmpdir(), "capstan-acp-")));
    let sessionId: string;
    const ask: Ask = () => ({ outcome: { outcome: "selected", optionId: "allow" } });
    {
      await using it = await world({ store, folder, ask, turns: [noteCall(), { text: "Written." }] });
      sessionId = await begun(it);
      await prompted(it, sessionId, "Write a\n note");
    }
    await using it = await world({ store, folder, turns: [] });
    const { sessions } = await it.editor.request(methods.agent.session.list, { cwd: folder });
    expect(sessions).toMatchObject([{ sessionId, cwd: folder, title: "Write a note" }]);
    expect((await it.editor.request(methods.agent.session.list, { cwd: tmpdir() })).sessions).toEqual([]);
    await it.editor.request(methods.agent.session.load, { sessionId, cwd: folder, mcpServers: [] });
    const kinds = it.shown.map(({ update }) => update.sessionUpdate);
    expect(kinds).toEqual(
      expect.arrayContaining(["user_message_chunk", "agent_message_chunk", "tool_call", "tool_call_update"]),
    );
    expect(it.said()).toBe("I write.Written.");
    expect(it.of("user_message_chunk").map(({ content }) => content)).toEqual(say("Write a\n note"));
    expect(it.asked).toEqual([]);
    await rm(folder, { recursive: true, force: true });
  });

  it("ACP-06 answers a session that is not there, or works elsewhere, with an error and makes no new one", async () => {
    await using it = await world();
    const load = { sessionId: "ses_none", cwd: it.folder, mcpServers: [] };
    await expect(it.editor.request(methods.agent.session.load, load)).rejects.toMatchObject({ code: -32_002 });
    await expect(it.editor.request(methods.agent.session.resume, load)).rejects.toMatchObject({ code: -32_002 });
    await expect(
      it.editor.request(methods.agent.session.prompt, { sessionId: "ses_none", prompt: say("x") }),
    ).rejects.toMatchObject({ code: -32_002 });
    const sessionId = await begun(it);
    const elsewhere = { sessionId, cwd: tmpdir(), mcpServers: [] };
    await expect(it.editor.request(methods.agent.session.load, elsewhere)).rejects.toMatchObject({ code: -32_602 });
    await expect(
      it.editor.request(methods.agent.session.new, { cwd: "relative", mcpServers: [] }),
    ).rejects.toMatchObject({ code: -32_602 });
    expect(await it.runtime.sessions()).toHaveLength(1);
  });

  it("ACP-06 sets modes and models, and shows what another door has set", async () => {
    await using it = await world({ options: { models: [{ id: "small", name: "Small" }] } });
    const opened = await it.editor.request(methods.agent.session.new, { cwd: it.folder, mcpServers: [] });
    const { sessionId } = opened;
    expect(opened.modes).toMatchObject({ currentModeId: "ask" });
    expect(opened.configOptions?.map(({ category }) => category)).toEqual(["mode", "model"]);
    await it.editor.request(methods.agent.session.setMode, { sessionId, modeId: "plan" });
    const set = await it.editor.request(methods.agent.session.setConfigOption, {
      sessionId,
      configId: "model",
      value: "small",
    });
    expect(set.configOptions).toMatchObject([{ currentValue: "plan" }, { category: "model", currentValue: "small" }]);
    const wrong = it.editor.request(methods.agent.session.setMode, { sessionId, modeId: "god" });
    await expect(wrong).rejects.toMatchObject({ code: -32_602 });
    const session = await it.runtime.session(sessionId);
    expect(await session.state()).toMatchObject({ mode: "plan", model: "small" });
    await session.update({ mode: "accept-edits" });
    while (it.of("current_mode_update").at(-1)?.currentModeId !== "accept-edits")
      await new Promise((resolve) => setImmediate(resolve));
    expect(it.of("config_option_update").at(-1)?.configOptions[0]).toMatchObject({ currentValue: "accept-edits" });
  });

  it("ACP-06 shows what another door says and does in the session", async () => {
    await using it = await world({ turns: [{ text: "From elsewhere." }] });
    const sessionId = await begun(it);
    const run = await (await it.runtime.session(sessionId)).send("Said elsewhere");
    await run.result();
    while (it.said() !== "From elsewhere.") await new Promise((resolve) => setImmediate(resolve));
    expect(it.of("user_message_chunk").map(({ content }) => content)).toEqual(say("Said elsewhere"));
  });

  it("ACP-06 deletes and closes", async () => {
    await using it = await world();
    const sessionId = await begun(it);
    await it.editor.request(methods.agent.session.close, { sessionId });
    await expect(
      it.editor.request(methods.agent.session.prompt, { sessionId, prompt: say("x") }),
    ).rejects.toMatchObject({ code: -32_002 });
    await it.editor.request(methods.agent.session.delete, { sessionId });
    expect(await it.runtime.sessions()).toEqual([]);
  });

  it("ACP-06 takes images and resources, and refuses what is none", async () => {
    const seen: unknown[] = [];
    await using it = await world({
      turns: [
        ({ messages }) => {
          seen.push(messages.at(-1)?.parts);
          return { text: "Seen." };
        },
      ],
    });
    const sessionId = await begun(it);
    await it.editor.request(methods.agent.session.prompt, {
      sessionId,
      prompt: [
        { type: "text", text: "Look" },
        { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" },
        { type: "resource_link", uri: "file:///a.ts", name: "a.ts" },
        { type: "resource", resource: { uri: "file:///b.ts", text: "const b = 1;" } },
      ],
    });
    expect(seen).toMatchObject([
      [
        { type: "text", text: "Look" },
        { type: "file", mediaType: "image/png" },
        { type: "text", text: "[a.ts](file:///a.ts)" },
        { type: "text", text: '<resource uri="file:///b.ts">\nconst b = 1;\n</resource>' },
      ],
    ]);
    const wrong = it.editor.request(methods.agent.session.prompt, {
      sessionId,
      prompt: [{ type: "image", mimeType: "image/png", data: "not base64!" }],
    });
    await expect(wrong).rejects.toMatchObject({ code: -32_602 });
    await expect(it.editor.request(methods.agent.session.prompt, { sessionId, prompt: [] })).rejects.toMatchObject({
      code: -32_602,
    });
  });

  it("ACP-06 ends a run that fails with an error of the protocol", async () => {
    await using it = await world({ turns: [{ error: new Error("no model today") }] });
    const sessionId = await begun(it);
    const prompt = it.editor.request(methods.agent.session.prompt, { sessionId, prompt: say("x") });
    await expect(prompt).rejects.toMatchObject({
      code: -32_603,
      message: expect.stringContaining("no model today") as string,
    });
  });
});
