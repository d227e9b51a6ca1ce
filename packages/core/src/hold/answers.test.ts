import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { plugin } from "../ports/plugin.ts";
import type { Answer } from "../words/request.ts";
import type { RuntimeOptions } from "../session/runtime-options.ts";
import { scriptedModel, type ScriptedReply } from "../testing/scripted-model.ts";
import { ofType, soon, until } from "../testing/waiting.ts";
import { World } from "../testing/world.ts";
import { flowTool, tool, type Tool } from "../ports/tool.ts";
import type { Workspace } from "../ports/workspace.ts";

const nothing = z.object({});
const numbered = z.object({ n: z.number() });
const allow: Answer = { type: "permission", allow: true };

function acting(ran: unknown[], fields: Partial<Parameters<typeof tool>[0]> = {}): Tool {
  return tool({
    name: "act",
    description: "Acts.",
    input: numbered,
    permission: "ask",
    ...fields,
    execute: (input) => {
      ran.push(input);
      return "done";
    },
  });
}
const called = (name: string, input: { readonly n?: number } = {}): ScriptedReply => ({ calls: [{ name, input }] });
/** A question of a hook is asked inside the call, which waits with it. */
const asking = plugin({ name: "asking", tool: (call, _context, next) => next({ ...call, verdict: "ask" }) });

class Asking extends World {
  guide(tools: readonly Tool[], turns: readonly ScriptedReply[], more: Partial<Parameters<typeof agent>[0]> = {}) {
    return agent({ name: "guide", model: scriptedModel(turns), instructions: "x", tools, ...more });
  }

  async start(guide: ReturnType<typeof agent>, options: Partial<RuntimeOptions> = {}) {
    return this.open({ agents: [guide], work: "all", ...options });
  }
}

describe("an answer given in this process", () => {
  const circle: { [name: string]: unknown } = { ...allow };
  circle["self"] = circle;
  it.each([
    ["a number that JSON has not", { ...allow, input: { n: 1n } }],
    ["a circle", circle],
    [
      "something that cannot be looked at",
      new Proxy(
        {},
        {
          get: () => {
            throw new Error("no");
          },
        },
      ),
    ],
  ])("PERM-07 that holds %s leaves the request open, and the run alive", async (_what, answer) => {
    const world = new Asking();
    const ran: unknown[] = [];
    const guide = world.guide([acting(ran)], [called("act", { n: 1 }), { text: "Done." }]);
    const runtime = await world.start(guide, { onRequest: async () => answer as Answer });
    const run = await runtime.send(guide, "Go");
    const waiting = await soon(run.result());
    expect([waiting.status, waiting.error]).toEqual(["waiting", undefined]);
    await soon(run.session.respond(waiting.requests[0]?.requestId ?? "", allow));
    expect([(await soon(run.result())).reason, ran]).toEqual(["end-turn", [{ n: 1 }]]);
  });

  it("PERM-14 that comes when the request has expired is too late, also where no timer has said so yet", async () => {
    const world = new Asking();
    const ran: unknown[] = [];
    let late = true;
    const store = new Proxy(world.store, {
      get: (of, name) => {
        if (name === "fireTimers" && late) return async () => undefined;
        const member: unknown = Reflect.get(of, name);
        return typeof member === "function" ? member.bind(of) : member;
      },
    });
    const guide = world.guide([acting(ran)], [called("act", { n: 1 })], { permission: { waitMs: 1_000 } });
    const answer = Promise.withResolvers<Answer>();
    const runtime = await world.open({ agents: [guide], work: "all", onRequest: () => answer.promise }, store);
    const run = await runtime.send(guide, "Go");
    await until(async () => ofType(await world.log(run.session.id), "request.opened").length === 1);
    await world.clock.advance(1_000);
    answer.resolve(allow);
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    late = false;
    await soon(run.session.update({ title: "awake" }));
    await world.clock.advance(1_000);
    expect([(await soon(run.result())).reason, ran]).toEqual(["end-turn", []]);
    expect(ofType(await world.log(run.session.id), "request.resolved").map(({ by }) => by)).toEqual([{ id: "expiry" }]);
  });
});

describe("what changed while a question was open", () => {
  it("PERM-14 the mode: what plan mode denies is not done, whatever was answered", async () => {
    const world = new Asking();
    const ran: unknown[] = [];
    const act = acting(ran, { permission: "allow" });
    const guide = world.guide([act], [called("act", { n: 1 })], { plugins: [asking] });
    const run = await (await world.start(guide)).send(guide, "Go");
    const [request] = (await soon(run.result())).requests;
    await soon(run.session.update({ mode: "plan" }));
    await soon(run.session.respond(request?.requestId ?? "", allow));
    expect([(await soon(run.result())).reason, ran]).toEqual(["end-turn", []]);
    expect(ofType(await world.log(run.session.id), "tool.finished")[0]?.status).toBe("denied");
  });

  it("PERM-14 where a link leads: a denied place is not written, whatever was answered", async () => {
    const world = new Asking();
    const ran: unknown[] = [];
    let place = "/w/harmless";
    const workspace = {
      root: "/w",
      confinement: "none",
      realPaths: async (paths: readonly string[]) => paths.map((path) => (path === "/w/link" ? place : path)),
      close: async () => undefined,
    } as unknown as Workspace; // all that is used of it
    const act = acting(ran, {
      permission: "allow",
      kind: "execute",
      needs: () => [{ type: "write", path: "/w/link" }],
    });
    const guide = world.guide([act], [called("act", { n: 1 })], {
      plugins: [asking],
      permission: { deny: ["Write(//w/secret/**)"] },
    });
    const runtime = await world.start(guide, { workspaces: { local: async () => workspace } });
    const session = await runtime.session({ agent: "guide", workspace: "/w" });
    const run = await session.send("Go");
    const [request] = (await soon(run.result())).requests;
    place = "/w/secret/key";
    await soon(session.respond(request?.requestId ?? "", allow));
    expect([(await soon(run.result())).reason, ran]).toEqual(["end-turn", []]);
  });

  it("PERM-14 the tool, there and back: nobody said no, so a person is asked again", async () => {
    const world = new Asking();
    const ran: unknown[] = [];
    const version = (description: string) =>
      world.guide([acting(ran, { description })], [called("act", { n: 1 }), { text: "Done." }]);
    const first = await world.start(version("One."));
    const session = await first.session({ agent: "guide", key: "k" });
    const run = await session.send("Go");
    await soon(run.result());
    for (const [index, name] of ["Two.", "One.", "Two."].entries()) {
      await world.kill();
      const runtime = await world.start(version(name));
      await soon((await runtime.session(session.id)).update({ title: name }));
      await until(async () => ofType(await world.log(session.id), "request.opened").length === index + 2);
    }
    const [last, ...others] = await first.requests();
    expect(others).toEqual([]);
    const asked = ofType(await world.log(session.id), "request.opened").map(({ requestId }) => requestId);
    expect([new Set(asked).size, asked.at(-1)]).toEqual([4, last?.requestId]);
    await soon(session.respond(last?.requestId ?? "", allow));
    expect([(await soon(run.result())).reason, ran]).toEqual(["end-turn", [{ n: 1 }]]);
  });
});

describe("a question of a flow", () => {
  it("LOOP-03 is closed with its call, and a branch that lost does nothing more", async () => {
    const world = new Asking();
    const paid: string[] = [];
    const hasty = flowTool({
      name: "hasty",
      description: "Does not wait for long.",
      input: nothing,
      flow: (_input, context) =>
        Promise.race([
          context.ask("pay", { title: "Pay?" }).then(() => context.step("pay", async () => void paid.push("paid"))),
          context.sleep("patience", 1_000).then(() => "Nobody came."),
        ]),
    });
    const hold = new Promise<never>(() => undefined);
    const guide = world.guide([hasty], [called("hasty"), { text: "So be it.", hold }]);
    const runtime = await world.start(guide);
    const run = await runtime.send(guide, "Go");
    const [request] = (await soon(run.result())).requests;
    await world.clock.advance(1_000);
    await until(async () => ofType(await world.log(run.session.id), "turn.started").length === 2);
    expect(await runtime.requests()).toEqual([]);
    await expect(run.session.respond(request?.requestId ?? "", allow)).rejects.toMatchObject({
      code: "request-closed",
    });
    const log = await world.log(run.session.id);
    expect(ofType(log, "tool.finished")[0]?.output.content).toEqual([{ type: "text", text: "Nobody came." }]);
    expect([paid, ofType(log, "step.started")]).toEqual([[], []]);
  });

  it("PERM-14 is not agreed to by an answer for other arguments", async () => {
    const world = new Asking();
    const heard: unknown[] = [];
    const refund = flowTool({
      name: "refund",
      description: "Refunds.",
      input: numbered,
      async flow({ n }, context) {
        heard.push(n, (await context.ask("sure", { title: `Refund ${n}?` })).allow);
        return "Ok.";
      },
    });
    for (const [n, agreed] of [
      [1, false],
      [100, true],
    ] as const) {
      const guide = world.guide([refund], [called("refund", { n: 100 })]);
      const runtime = await world.start(guide);
      const run = await runtime.send(guide, "Go");
      const [request] = (await soon(run.result())).requests;
      await soon(run.session.respond(request?.requestId ?? "", { ...allow, input: { n } } as Answer));
      await soon(run.result());
      expect(heard.splice(0)).toEqual([100, agreed]);
      await world.close(runtime);
    }
  });

  it("PERM-07 a plan is agreed to by approvers only", async () => {
    const world = new Asking();
    const heard: unknown[] = [];
    const planned = flowTool({
      name: "planned",
      description: "Has a plan.",
      input: nothing,
      async flow(_input, context) {
        heard.push(await context.plan("plan", "1. Sell everything"));
        return "Ok.";
      },
    });
    const guide = world.guide([planned], [called("planned")], { permission: { approvers: ["ada"] } });
    const runtime = await world.start(guide, { onRequest: async () => ({ type: "plan", allow: true }) });
    const run = await runtime.send(guide, "Go");
    const id = (await soon(run.result())).requests[0]?.requestId ?? "";
    const of = (name: string) => runtime.as({ id: name, door: "test" }).session(run.session.id);
    const word: Answer = { type: "plan", allow: true };
    await expect((await of("bob")).respond(id, word)).rejects.toMatchObject({ code: "permission-denied" });
    expect(heard).toEqual([]);
    await soon((await of("ada")).respond(id, word));
    await soon(run.result());
    expect(heard).toEqual([{ allow: true }]);
  });
});

it("PERM-07 only approvers say that a call whose outcome is unknown may be made again", async () => {
  const world = new Asking();
  const ran: unknown[] = [];
  const never = new Promise<never>(() => undefined);
  const guide = (execute: (input: unknown) => Promise<string>) =>
    world.guide(
      [{ ...acting([], { permission: "allow" }), body: { type: "execute", execute } } as Tool],
      [called("act", { n: 1 })],
      { permission: { approvers: ["ada"] } },
    );
  const first = await world.start(guide(async (input) => (ran.push(input), never)));
  const session = await first.session({ agent: "guide", key: "k" });
  const run = await session.send("Go");
  await until(() => ran.length === 1);
  await world.kill();
  const second = await world.start(guide(async (input) => (ran.push(input), "done")));
  await until(async () => (await second.requests()).length === 1);
  const id = (await second.requests())[0]?.requestId ?? "";
  const of = (name: string) => second.as({ id: name, door: "test" }).session(session.id);
  const again: Answer = { type: "doubt", outcome: "run-again" };
  await expect((await of("bob")).respond(id, again)).rejects.toMatchObject({ code: "permission-denied" });
  expect(ran).toHaveLength(1);
  await soon((await of("ada")).respond(id, again));
  expect((await soon((await (await second.session(session.id)).run(run.id))?.result() ?? run.result())).reason).toBe(
    "end-turn",
  );
  expect(ran).toHaveLength(2);
});

it("LOOP-03 an answer that an interrupt overtook is told that it came too late", async () => {
  const world = new Asking();
  const ran: unknown[] = [];
  const overtaken = Promise.withResolvers<void>();
  const store = new Proxy(world.store, {
    get: (of, name) => {
      if (name === "submit")
        return async (mail: Parameters<typeof of.submit>[0]) => {
          if (mail.key.startsWith("respond/")) await overtaken.promise;
          return of.submit(mail);
        };
      const member: unknown = Reflect.get(of, name);
      return typeof member === "function" ? member.bind(of) : member;
    },
  });
  const guide = world.guide([acting(ran)], [called("act", { n: 1 })]);
  const runtime = await world.open({ agents: [guide], work: "all" }, store);
  const run = await runtime.send(guide, "Go");
  const [request] = (await soon(run.result())).requests;
  const answered = expect(run.session.respond(request?.requestId ?? "", allow)).rejects.toMatchObject({
    code: "request-closed",
  });
  await new Promise((resolve) => setImmediate(resolve));
  await soon(run.session.interrupt());
  overtaken.resolve();
  await soon(answered);
  expect(ran).toEqual([]);
});

it("TOOL-20 a result that names a file which is not there does not fail every later call of the model", async () => {
  const world = new Asking();
  const map = tool({ name: "map", description: "Draws a map.", input: nothing });
  const model = scriptedModel([called("map"), { text: "Seen." }]);
  const reading: typeof model = {
    ...model,
    async *stream(request) {
      for (const { parts } of request.messages)
        for (const part of parts)
          for (const piece of part.type === "tool-result" ? part.output.content : [])
            if (piece.type === "file" && piece.data.type === "blob") await request.blob(piece.data.hash);
      yield* model.stream(request);
    },
  };
  const guide = agent({ name: "guide", model: reading, instructions: "x", tools: [map] });
  const run = await (await world.start(guide)).send(guide, "Go");
  const [request] = (await soon(run.result())).requests;
  const data = { type: "blob", hash: "0".repeat(64), size: 3 } as const;
  const output = { content: [{ type: "file", mediaType: "image/png", data }] } as const;
  await soon(run.session.respond(request?.requestId ?? "", { type: "client-tool", output }));
  expect((await soon(run.result())).text).toBe("Seen.");
  const [ended] = ofType(await world.log(run.session.id), "tool.finished");
  expect(ended?.output.content).toEqual([{ type: "text", text: expect.stringContaining("A file is missing") }]);
});
