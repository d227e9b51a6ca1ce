import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { plugin, type Plugin } from "../ports/plugin.ts";
import { type Runtime } from "../session/runtime.ts";
import type { RuntimeOptions } from "../session/runtime-options.ts";
import { scriptedModel, type ScriptedReply } from "../testing/scripted-model.ts";
import { flowTool, tool, type Tool } from "../ports/tool.ts";
import { ofType, soon, until } from "../testing/waiting.ts";
import { World } from "../testing/world.ts";

const START = 1_767_225_600_000;
const DAY = 86_400_000;

/** Somebody can be asked, and every process drives every session. */
class AskingWorld extends World {
  start(options: Partial<RuntimeOptions> & Pick<RuntimeOptions, "agents">): Promise<Runtime> {
    return this.open({ permission: { mode: "ask" }, work: "all", ...options });
  }
}

const nothing = z.object({});
const pathed = z.object({ path: z.string() });

function guarded(ran: string[] = [], fields: Partial<Parameters<typeof tool>[0]> = {}): Tool {
  return tool({
    name: "write",
    description: "Writes.",
    input: pathed,
    permission: () => "ask",
    ...fields,
    execute: (input) => {
      const { path } = input as { path: string };
      ran.push(path);
      return `wrote ${path}`;
    },
  });
}
const calls = (...paths: string[]): ScriptedReply => ({
  calls: paths.map((path) => ({ name: "write", input: { path } })),
});

function guideOf(tools: readonly Tool[], turns: readonly ScriptedReply[], plugins: readonly Plugin[] = []) {
  return agent({ name: "guide", model: scriptedModel(turns), instructions: "x", tools, plugins });
}

describe("an open request", () => {
  it("LOOP-03 TOOL-06 PERM-08 DUR-06 is a fact, is listed, and is answered once", async () => {
    const world = new AskingWorld();
    const ran: string[] = [];
    const guide = guideOf([guarded(ran)], [calls("a"), { text: "Ok." }]);
    const runtime = await world.start({ agents: [guide] });
    const run = await runtime.send(guide, "Go");
    const waiting = await soon(run.result());
    expect(waiting).toMatchObject({ status: "waiting", text: "", turns: 0 });
    const [request] = waiting.requests;
    expect(request).toMatchObject({
      sessionId: run.session.id,
      runId: run.id,
      openedAt: START,
      expiresAt: START + 7 * DAY,
      body: { type: "permission", remember: [], reason: "write asks before this input" },
    });
    expect(await runtime.requests()).toEqual(waiting.requests);
    expect((await run.session.state()).status).toBe("waiting");
    expect((await runtime.sessions({ status: "waiting" })).map(({ sessionId }) => sessionId)).toEqual([run.session.id]);
    await expect(run.text()).rejects.toMatchObject({ code: "run-waiting" });
    const requestId = request?.requestId ?? "";
    await soon(run.session.respond(requestId, { type: "permission", allow: true }));
    expect(await soon(run.text())).toBe("Ok.");
    expect(ran).toEqual(["a"]);
    for (const answer of [true, false]) {
      await expect(run.session.respond(requestId, { type: "permission", allow: answer })).rejects.toMatchObject({
        code: "request-closed",
      });
    }
    expect(ofType(await world.log(run.session.id), "request.resolved")).toHaveLength(1);
    await world.close();
  });

  it("EDGE-06 two answers at once: one counts, the other hears that it was late", async () => {
    const world = new AskingWorld();
    const guide = guideOf([guarded()], [calls("a"), { text: "Ok." }]);
    const runtime = await world.start({ agents: [guide] });
    const run = await runtime.send(guide, "Go");
    const requestId = (await soon(run.result())).requests[0]?.requestId ?? "";
    const answers = await soon(
      Promise.allSettled([
        run.session.respond(requestId, { type: "permission", allow: false, reason: "first" }),
        run.session.respond(requestId, { type: "permission", allow: true }),
      ]),
    );
    expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    await soon(run.result());
    expect(ofType(await world.log(run.session.id), "tool.finished")[0]).toMatchObject({
      status: "denied",
      output: { content: [{ text: "Refused: the user said no: first" }] },
    });
    await world.close();
  });

  it("EDGE-06 refuses unknown ids, and answers of another kind, and stays open", async () => {
    const world = new AskingWorld();
    const guide = guideOf([guarded()], [calls("a"), { text: "Ok." }]);
    const runtime = await world.start({ agents: [guide] });
    const run = await runtime.send(guide, "Go");
    const requestId = (await soon(run.result())).requests[0]?.requestId ?? "";
    await expect(run.session.respond("req_none", { type: "permission", allow: true })).rejects.toMatchObject({
      code: "request-closed",
    });
    await expect(run.session.respond(requestId, { type: "doubt", outcome: "skip" })).rejects.toMatchObject({
      code: "request-invalid",
    });
    await expect(
      run.session.respond(requestId, { type: "permission", allow: true, remember: "global" }),
    ).rejects.toMatchObject({ code: "request-invalid" });
    expect(await runtime.requests()).toHaveLength(1);
    await soon(run.session.respond(requestId, { type: "permission", allow: true }));
    expect(await soon(run.text())).toBe("Ok.");
    await world.close();
  });

  it("result() says waiting also when something else was written since the run was suspended", async () => {
    const world = new AskingWorld();
    const guide = guideOf([guarded()], [calls("a"), { text: "Ok." }]);
    const runtime = await world.start({ agents: [guide] });
    const run = await runtime.send(guide, "Go");
    await soon(run.result());
    await soon(run.session.update({ title: "Renamed" }));
    expect(await soon(run.result())).toMatchObject({ status: "waiting" });
    await run.session.send("queued");
    await until(async () => (await run.session.state()).queue.length === 1);
    expect(await soon(run.result())).toMatchObject({ status: "waiting" });
    await world.close();
  });

  it("DUR-06 parks after 60 s without holding the session, and the answer starts it again", async () => {
    const world = new AskingWorld();
    const guide = guideOf([guarded()], [calls("a"), { text: "Ok." }]);
    const runtime = await world.start({ agents: [guide] });
    const run = await runtime.send(guide, "Go");
    const requestId = (await soon(run.result())).requests[0]?.requestId ?? "";
    const held = async (): Promise<boolean> => (await world.store.claim(run.session.id, "thief")) === undefined;
    await world.clock.advance(59_999);
    expect(await held()).toBe(true);
    await world.clock.advance(1);
    expect(ofType(await world.log(run.session.id), "run.resumed")).toEqual([]);
    await soon(run.session.respond(requestId, { type: "permission", allow: true }));
    expect(await soon(run.text())).toBe("Ok.");
    expect(ofType(await world.log(run.session.id), "run.resumed")).toEqual([
      expect.objectContaining({ by: "answer", epoch: 2 }),
    ]);
    await world.close();
  });

  it("DUR-06 PERM-08 DUR-12 survives the end of its process and is answered in the next", async () => {
    const world = new AskingWorld();
    const ran: string[] = [];
    const guide = guideOf([guarded(ran)], [calls("a"), { text: "Ok." }]);
    const first = await world.start({ agents: [guide] });
    const run = await first.send(guide, "Go");
    await soon(run.result());
    await first.close({ graceMs: 0 });
    const second = await world.start({ agents: [guide] });
    const [request] = await second.requests();
    const session = await second.session<string>(run.session.id);
    await soon(session.respond(request?.requestId ?? "", { type: "permission", allow: true }));
    const again = await session.run(run.id);
    expect(await soon(again?.text() ?? Promise.reject(new Error("no run")))).toBe("Ok.");
    expect(ran).toEqual(["a"]);
    await world.close();
  });

  it("LOOP-05 expires after seven days into a denial, also when nobody was there", async () => {
    const world = new AskingWorld();
    const ran: string[] = [];
    const guide = guideOf([guarded(ran)], [calls("a"), { text: "Nobody said yes." }]);
    const first = await world.start({ agents: [guide] });
    const run = await first.send(guide, "Go");
    const requestId = (await soon(run.result())).requests[0]?.requestId ?? "";
    await first.close({ graceMs: 0 });
    world.jump(7 * DAY);
    const second = await world.start({ agents: [guide] });
    const session = await second.session<string>(run.session.id);
    const again = await session.run();
    await until(async () => (await session.state()).status === "idle");
    expect(await soon(again?.text() ?? Promise.reject(new Error("no run")))).toBe("Nobody said yes.");
    await expect(session.respond(requestId, { type: "permission", allow: true })).rejects.toMatchObject({
      code: "request-closed",
    });
    expect(ran).toEqual([]);
    const log = await world.log(run.session.id);
    expect(ofType(log, "request.resolved")[0]).toMatchObject({
      by: { id: "expiry" },
      answer: { type: "permission", allow: false },
    });
    expect(ofType(log, "tool.finished")[0]).toMatchObject({
      status: "denied",
      output: { content: [{ text: "Refused: nobody answered in time: nobody answered in time" }] },
    });
    await world.close();
  });

  it("LOOP-05 the time of waiting does not count for the deadline", async () => {
    const world = new AskingWorld();
    const guide = agent({
      name: "guide",
      model: scriptedModel([calls("a"), { text: "Ok." }]),
      instructions: "x",
      tools: [guarded()],
      limits: { wallMs: 10_000 },
    });
    const runtime = await world.start({ agents: [guide] });
    const run = await runtime.send(guide, "Go");
    const requestId = (await soon(run.result())).requests[0]?.requestId ?? "";
    await world.clock.advance(3_600_000);
    await soon(run.session.respond(requestId, { type: "permission", allow: true }));
    expect(await soon(run.result())).toMatchObject({ reason: "end-turn", text: "Ok." });
    await world.close();
  });
});

describe("answers", () => {
  it("PERM-03 remember session allows the same next time, in this session only", async () => {
    const world = new AskingWorld();
    const guide = guideOf([guarded([], { permission: "ask" })], [calls("a"), calls("a"), { text: "Ok." }]);
    const runtime = await world.start({ agents: [guide] });
    const run = await runtime.send(guide, "Go");
    const requestId = (await soon(run.result())).requests[0]?.requestId ?? "";
    await soon(run.session.respond(requestId, { type: "permission", allow: true, remember: "session" }));
    expect(await soon(run.text())).toBe("Ok.");
    expect((await run.session.state()).rules).toEqual(["write"]);
    const other = await runtime.send(guide, "Go");
    expect(await soon(other.result())).toMatchObject({ status: "waiting" });
    await world.close();
  });

  it("PERM-14 an edited input is what runs, is checked, and is what the log says", async () => {
    const world = new AskingWorld();
    const ran: string[] = [];
    const guide = guideOf([guarded(ran)], [calls("a", "b", "c"), { text: "Ok." }]);
    const runtime = await world.start({ agents: [guide], permission: { mode: "ask", deny: ["write(/etc/**)"] } });
    const run = await runtime.send(guide, "Go");
    const [first, second, third] = (await soon(run.result())).requests;
    const answer = (id: string | undefined, input: unknown): Promise<void> =>
      soon(run.session.respond(id ?? "", { type: "permission", allow: true, input: input as never }));
    await answer(first?.requestId, { path: "better" });
    await answer(second?.requestId, { path: 5 });
    await answer(third?.requestId, { path: "fine" });
    expect(await soon(run.text())).toBe("Ok.");
    expect(ran).toEqual(["better", "fine"]);
    const log = await world.log(run.session.id);
    expect(ofType(log, "tool.started").map(({ input }) => input)).toEqual([{ path: "better" }, { path: "fine" }]);
    const ends = ofType(log, "tool.finished").map(({ status, output }) => [status, output.content]);
    expect(ends[1]).toEqual([
      "error",
      [{ type: "text", text: expect.stringContaining("edited by the user do not fit write: path:") }],
    ]);
    await world.close();
  });

  it("PERM-14 EDGE-01 a crash after an approval with an edited input runs the edited input, not the model's", async () => {
    const world = new AskingWorld();
    const ran: string[] = [];
    let hang = true;
    const write = tool({
      name: "write",
      description: "Writes.",
      input: pathed,
      permission: () => "ask",
      rerun: "keyed",
      execute: ({ path }) => {
        ran.push(path);
        return hang ? new Promise<string>(() => undefined) : `wrote ${path}`;
      },
    });
    const guide = guideOf([write], [calls("model's"), { text: "Ok." }]);
    const first = await world.start({ agents: [guide] });
    const run = await first.send(guide, "Go");
    const requestId = (await soon(run.result())).requests[0]?.requestId ?? "";
    await soon(run.session.respond(requestId, { type: "permission", allow: true, input: { path: "person's" } }));
    await until(() => ran.length === 1);
    await world.kill();
    hang = false;
    const second = await world.start({ agents: [guide] });
    const again = await (await second.session<string>(run.session.id)).run();
    expect(await soon(again?.text() ?? Promise.reject(new Error("no run")))).toBe("Ok.");
    expect(ran).toEqual(["person's", "person's"]);
    const intents = ofType(await world.log(run.session.id), "tool.started");
    expect(intents.map(({ input }) => input)).toEqual([{ path: "person's" }, { path: "person's" }]);
    expect(new Set(intents.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    await world.close();
  });

  it("EDGE-06 an input that a hook changes after the approval is asked about again", async () => {
    const world = new AskingWorld();
    const ran: string[] = [];
    const move = plugin({ name: "move", tool: (call, _context, next) => next({ ...call, input: { path: "moved" } }) });
    const guide = guideOf([guarded(ran)], [calls("a"), { text: "Ok." }], [move]);
    const runtime = await world.start({ agents: [guide] });
    const run = await runtime.send(guide, "Go");
    const seen: unknown[] = [];
    for (let result = await soon(run.result()); result.status === "waiting"; result = await soon(run.result())) {
      for (const { requestId, body } of result.requests) {
        seen.push(body.type === "permission" && body.input);
        await soon(run.session.respond(requestId, { type: "permission", allow: true }));
      }
    }
    expect(seen).toEqual([{ path: "a" }, { path: "moved" }]);
    expect(ran).toEqual(["moved"]);
    await world.close();
  });

  it("EDGE-06 DUR-12 a tool that changed while its call waited is asked about again, and only once", async () => {
    const world = new AskingWorld();
    const ran: string[] = [];
    const before = guideOf([guarded(ran)], [calls("a"), { text: "Ok." }]);
    const first = await world.start({ agents: [before] });
    const run = await first.send(before, "Go");
    const old = (await soon(run.result())).requests[0];
    await first.close({ graceMs: 0 });
    const after = guideOf([guarded(ran, { description: "Writes everywhere." })], [calls("a"), { text: "Ok." }]);
    const second = await world.start({ agents: [after] });
    const session = await second.session<string>(run.session.id);
    if (old !== undefined)
      await session.respond(old.requestId, { type: "permission", allow: true }).catch(() => undefined);
    const again = await session.run();
    if (again === undefined) throw new Error("no run");
    const waiting = await soon(again.result());
    expect(ran).toEqual([]);
    expect(waiting.requests).toHaveLength(1);
    expect(waiting.requests[0]?.requestId).not.toBe(old?.requestId);
    await soon(session.respond(waiting.requests[0]?.requestId ?? "", { type: "permission", allow: true }));
    expect(await soon(again.text())).toBe("Ok.");
    expect(ran).toEqual(["a"]);
    expect(await world.store.fireTimers(world.clock.now())).toBeUndefined(); // no expiry is left behind
    await world.close();
  });
});

describe("onRequest", () => {
  it("PERM-07 answers in this process, each request once, with the request in full", async () => {
    const world = new AskingWorld();
    const asked: string[] = [];
    const guide = guideOf([guarded()], [calls("a", "b"), { text: "Ok." }]);
    const runtime = await world.start({
      agents: [guide],
      onRequest: async (request) => {
        asked.push(request.body.type === "permission" ? request.body.title : "");
        return { type: "permission", allow: asked.length === 1, reason: "no more" };
      },
    });
    const run = await runtime.send(guide, "Go");
    expect(await soon(run.text())).toBe("Ok.");
    expect(asked).toEqual(["write", "write"]);
    const log = await world.log(run.session.id);
    expect(
      ofType(log, "tool.finished")
        .map(({ status }) => status)
        .toSorted(),
    ).toEqual(["denied", "ok"]);
    expect(ofType(log, "request.resolved")[0]?.by).toEqual({ id: "on-request", door: "library" });
    await world.close();
  });

  it("PERM-07 what it throws, also at once, leaves the request open for any door", async () => {
    for (const onRequest of [
      async () => Promise.reject(new Error("no terminal")),
      () => {
        throw new Error("no terminal");
      },
      async () => undefined,
      async () => ({ type: "doubt", outcome: "skip" }) as const,
    ]) {
      const world = new AskingWorld();
      const guide = guideOf([guarded()], [calls("a"), { text: "Ok." }]);
      const runtime = await world.start({ agents: [guide], onRequest });
      const run = await runtime.send(guide, "Go");
      await until(async () => (await runtime.requests()).length === 1);
      await world.clock.advance(10);
      const [request] = await runtime.requests();
      await soon(run.session.respond(request?.requestId ?? "", { type: "permission", allow: true }));
      expect(await soon(run.text())).toBe("Ok.");
      await world.close();
    }
  });

  it("its signal aborts when the run is interrupted", async () => {
    const world = new AskingWorld();
    let aborted = false;
    const guide = guideOf([guarded()], [calls("a")]);
    const runtime = await world.start({
      agents: [guide],
      onRequest: (_request, { signal }) =>
        new Promise((resolve) =>
          signal.addEventListener("abort", () => {
            aborted = true;
            resolve(undefined);
          }),
        ),
    });
    const run = await runtime.send(guide, "Go");
    await until(async () => (await runtime.requests()).length === 1);
    await soon(run.session.interrupt());
    expect(aborted).toBe(true);
    await world.close();
  });
});

describe("client tools", () => {
  const map = tool({ name: "map", description: "Shows a map.", input: pathed });

  it("TOOL-10 are answered from outside", async () => {
    const world = new AskingWorld();
    const guide = guideOf([map], [{ calls: [{ name: "map", input: { path: "Oslo" } }] }, { text: "There." }]);
    const runtime = await world.start({ agents: [guide] });
    const run = await runtime.send(guide, "Go");
    const [request] = (await soon(run.result())).requests;
    expect(request?.body).toEqual({
      type: "client-tool",
      callId: `${run.id}/1/0`,
      tool: "map",
      input: { path: "Oslo" },
    });
    const output = { content: [{ type: "text", text: "shown" }] } as const;
    await soon(run.session.respond(request?.requestId ?? "", { type: "client-tool", output }));
    expect(await soon(run.text())).toBe("There.");
    expect(ofType(await world.log(run.session.id), "tool.finished")[0]).toMatchObject({ status: "ok", output });
    await world.close();
  });

  it("TOOL-10 that nobody answers in time are an error", async () => {
    const world = new AskingWorld();
    const guide = guideOf([map], [{ calls: [{ name: "map", input: { path: "Oslo" } }] }, { text: "No map." }]);
    const runtime = await world.start({ agents: [guide] });
    const run = await runtime.send(guide, "Go");
    await soon(run.result());
    await world.clock.advance(7 * DAY);
    await until(async () => (await run.session.state()).status === "idle");
    expect(await soon(run.text())).toBe("No map.");
    expect(ofType(await world.log(run.session.id), "tool.finished")[0]).toMatchObject({
      status: "error",
      output: { isError: true, content: [{ text: "No result was supplied in time." }] },
    });
    await world.close();
  });
});

describe("doubt", () => {
  /** A call that a crash cut off in its effect, and the process that finds it. */
  async function crashed(fields: Partial<Parameters<typeof tool>[0]>, options: Partial<RuntimeOptions> = {}) {
    const world = new AskingWorld();
    let runs = 0;
    const effect = tool({
      name: "pay",
      description: "Pays.",
      input: nothing,
      ...fields,
      execute: () => (++runs === 1 ? new Promise<string>(() => undefined) : "paid again"),
    });
    const guide = guideOf([effect], [{ calls: [{ name: "pay", input: {} }] }, { text: "Ok." }]);
    const first = await world.start({ agents: [guide], ...options });
    const run = await first.send(guide, "Go");
    await until(() => runs === 1);
    await world.kill();
    const second = await world.start({ agents: [guide], ...options });
    const session = await second.session<string>(run.session.id);
    const again = await session.run();
    if (again === undefined) throw new Error("no run");
    const end = async () => ofType(await world.log(run.session.id), "tool.finished")[0];
    return { world, session, run: again, end, runs: () => runs };
  }

  it("DUR-03 safe runs again, keyed runs again with its key", async () => {
    for (const rerun of ["safe", "keyed"] as const) {
      const { world, run, end, runs } = await crashed({ rerun });
      expect(await soon(run.text())).toBe("Ok.");
      expect(runs()).toBe(2);
      expect(await end()).toMatchObject({ status: "ok", output: { content: [{ text: "paid again" }] } });
      await world.close();
    }
  });

  const probes = [
    ["happened", 1, "ok", "The call had finished before a crash; its output is lost."],
    ["did-not", 2, "ok", "paid again"],
  ] as const;
  for (const [probe, times, status, text] of probes) {
    it(`DUR-03 EDGE-01 never asks its probe: ${probe}`, async () => {
      const { world, run, end, runs } = await crashed({ probe: () => probe });
      expect(await soon(run.text())).toBe("Ok.");
      expect(runs()).toBe(times);
      expect(await end()).toMatchObject({ status, output: { content: [{ text }] } });
      await world.close();
    });
  }

  it("DUR-03 with nobody to ask the outcome is unknown, and the model is told", async () => {
    for (const probe of [undefined, () => "unknown" as const, () => Promise.reject(new Error("no net"))]) {
      const { world, run, end, runs } = await crashed(probe === undefined ? {} : { probe }, {
        permission: { mode: "never-ask" },
      });
      expect(await soon(run.text())).toBe("Ok.");
      expect(runs()).toBe(1);
      expect(await end()).toMatchObject({
        status: "unknown",
        output: { isError: true, content: [{ text: expect.stringContaining("Check before any repeat") }] },
      });
      await world.close();
    }
  });

  const outcomes = [
    ["run-again", 2, "ok"],
    ["it-happened", 1, "ok"],
    ["skip", 1, "cancelled"],
  ] as const;
  for (const [outcome, times, status] of outcomes) {
    it(`DUR-03 EDGE-01 a person is asked, and says ${outcome}, also after the session parked`, async () => {
      const { world, session, run, end, runs } = await crashed({});
      const [request] = (await soon(run.result())).requests;
      expect(request?.body).toMatchObject({ type: "doubt", tool: "pay", input: {}, startedAt: START });
      await world.clock.advance(61_000);
      await soon(session.respond(request?.requestId ?? "", { type: "doubt", outcome }));
      expect(await soon(run.text())).toBe("Ok.");
      expect(runs()).toBe(times);
      expect(await end()).toMatchObject({ status });
      expect(ofType(await world.log(session.id), "request.opened")).toHaveLength(1);
      await world.close();
    });
  }

  it("EDGE-01 an interrupt of a call in doubt says that its outcome is unknown", async () => {
    const { world, session, run, end } = await crashed({});
    await soon(run.result());
    await soon(session.interrupt());
    expect(await end()).toMatchObject({ status: "unknown", output: { isError: true } });
    await world.close();
  });

  it("EDGE-01 a never step of a flow is asked about once, also when the session parks in between", async () => {
    const world = new AskingWorld();
    let runs = 0;
    const flow = flowTool({
      name: "deploy",
      description: "Deploys.",
      input: nothing,
      flow: (_input, context) =>
        context.step("apply", () => (++runs === 1 ? new Promise<string>(() => undefined) : "applied")),
    });
    const guide = guideOf([flow], [{ calls: [{ name: "deploy", input: {} }] }, { text: "Ok." }]);
    const first = await world.start({ agents: [guide] });
    const run = await first.send(guide, "Go");
    await until(() => runs === 1);
    await world.kill();
    const second = await world.start({ agents: [guide] });
    const session = await second.session<string>(run.session.id);
    const again = await session.run();
    if (again === undefined) throw new Error("no run");
    const [request] = (await soon(again.result())).requests;
    expect(request?.body).toMatchObject({ type: "doubt" });
    await world.clock.advance(61_000);
    await soon(session.respond(request?.requestId ?? "", { type: "doubt", outcome: "run-again" }));
    expect(await soon(again.result())).toMatchObject({ status: "finished", text: "Ok." });
    expect(runs).toBe(2);
    expect(ofType(await world.log(session.id), "request.opened")).toHaveLength(1);
    await world.close();
  });
});
