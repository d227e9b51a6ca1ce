import { describe, expect, it } from "vitest";
import { agent, type Agent, type Fact, type Json, textOf } from "@capstan/core";
import { crashSweep, scriptedModel, type ScriptedReply, testRuntime } from "@capstan/core/testing";
import { taskList, todoList } from "./index.ts";
import { createTask, type Task, updateTask } from "./task-graph.ts";

type Call = readonly [string, Json];
const turn = (...calls: readonly Call[]): ScriptedReply => ({ calls: calls.map(([name, input]) => ({ name, input })) });

function keeper(...turns: readonly ScriptedReply[]): Agent {
  const model = scriptedModel([...turns, { text: "Done." }]);
  return agent({ name: "keeper", model, instructions: "Plan.", plugins: [todoList(), taskList()] });
}

async function play(
  ...turns: readonly ScriptedReply[]
): Promise<{ readonly told: readonly string[]; readonly log: readonly Fact[] }> {
  const one = keeper(...turns);
  await using runtime = await testRuntime({ agents: [one] });
  const { messages } = await (await runtime.send(one, "Go")).result();
  const told = messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === "tool-result" ? [textOf(part.output.content)] : [])),
  );
  return { told, log: await runtime.store.read("ses_1", { after: 0, limit: 1_000 }) };
}
const plans = (log: readonly Fact[]) => log.flatMap((fact) => (fact.type === "plan.updated" ? [fact.entries] : []));

describe("todoList", () => {
  it("TOOL-30 writes the list as the session's plan, whole each time", async () => {
    const { told, log } = await play(
      turn([
        "todo_write",
        {
          todos: [
            { content: "Read", status: "in_progress" },
            { content: "Write", status: "pending", priority: "high" },
          ],
        },
      ]),
      turn(["todo_write", { todos: [{ content: "Read", status: "completed" }] }]),
    );
    expect(plans(log)).toEqual([
      [
        { content: "Read", priority: "medium", status: "in-progress" },
        { content: "Write", priority: "high", status: "pending" },
      ],
      [{ content: "Read", priority: "medium", status: "completed" }],
    ]);
    expect(told).toEqual(["Written. Open: 2 of 2.", "Written. Open: 0 of 1."]);
  });

  it("TOOL-30 refuses what is no list and writes nothing", async () => {
    const { told, log } = await play(
      turn(
        ["todo_write", { todos: [{ content: "", status: "pending" }] }],
        ["todo_write", { todos: [{ content: "x", status: "soon" }] }],
      ),
    );
    expect(plans(log)).toEqual([]);
    expect(told.every((text) => text.startsWith("Wrong arguments for todo_write"))).toBe(true);
  });

  it("TOOL-30 shows the list again after a compaction, until it is written anew", async () => {
    const list = todoList();
    const { fold } = list;
    const fact = (body: object) => ({ ...body, seq: 1, at: 0, key: "k" }) as Fact;
    const written = fold?.next(
      fold.start,
      fact({ type: "plan.updated", entries: [{ content: "Read", priority: "low", status: "pending" }] }),
    );
    const tail = (own: unknown) => list.prepare?.({} as never, { own } as never);
    expect(tail(written)).toBeUndefined();
    const compacted = fold?.next(written, fact({ type: "context.compacted" }));
    expect(tail(compacted)).toEqual({
      tail: [{ type: "text", text: "<system>Your todo list stands as:\n- [pending] Read</system>" }],
    });
    expect(tail(fold?.next(compacted, fact({ type: "plan.updated", entries: [] })))).toBeUndefined();
  });
});

describe("taskList", () => {
  it("TOOL-30 creates, updates, lists and gets tasks that wait for each other, also within one turn", async () => {
    const { told, log } = await play(
      turn(
        ["task_create", { subject: "Design" }],
        ["task_create", { subject: "Build", description: "All of it.", blocked_by: ["1"] }],
        ["task_list", {}],
      ),
      turn(
        ["task_update", { id: "2", status: "in_progress" }],
        ["task_update", { id: "1", status: "completed" }],
        ["task_update", { id: "2", status: "in_progress" }],
      ),
      turn(["task_get", { id: "2" }], ["task_get", { id: "9" }]),
    );
    expect(told).toEqual([
      "1. [pending] Design",
      "2. [pending] Build (waits for 1)",
      "1. [pending] Design\n2. [pending] Build (waits for 1)",
      "Task 2 waits for 1; finish that first.",
      "1. [completed] Design",
      "2. [in_progress] Build",
      "2. [in_progress] Build\n\nAll of it.",
      'There is no task "9".',
    ]);
    expect(plans(log).at(-1)).toEqual([
      { content: "Design", priority: "medium", status: "completed" },
      { content: "Build", priority: "medium", status: "in-progress" },
    ]);
  });

  it("TOOL-30 refuses circles and unknown tasks", () => {
    const made = ["a", "b", "c"].reduce<readonly Task[]>((tasks, subject, index) => {
      const change = createTask(tasks, { subject, blocked_by: index === 0 ? [] : [String(index)] });
      return change.ok ? change.tasks : [];
    }, []);
    const problem = (id: string, ...more: readonly string[]) => {
      const change = updateTask(made, { id, add_blocked_by: more });
      return change.ok ? undefined : change.problem;
    };
    expect(problem("1", "3")).toBe("Tasks would wait for each other in a circle: 1 -> 3 -> 2 -> 1.");
    expect(problem("1", "1")).toBe("Tasks would wait for each other in a circle: 1 -> 1.");
    expect(problem("1", "7")).toBe('There is no task "7".');
    expect(problem("7")).toBe('There is no task "7".');
    expect(problem("3", "1")).toBeUndefined();
    expect(createTask(made, { subject: "d", blocked_by: ["4"] })).toMatchObject({ ok: false });
  });

  it("keeps rules: a denied tool changes nothing", async () => {
    const model = scriptedModel([
      turn(["task_create", { subject: "x" }], ["todo_write", { todos: [] }]),
      { text: "Done." },
    ]);
    const one = agent({
      name: "k",
      model,
      instructions: "x",
      plugins: [todoList(), taskList()],
      permission: { deny: ["task_create", "todo_write"] },
    });
    await using runtime = await testRuntime({ agents: [one] });
    await (await runtime.send(one, "Go")).result();
    const log = await runtime.store.read("ses_1", { after: 0, limit: 1_000 });
    expect(plans(log)).toEqual([]);
    expect(log.filter((fact) => fact.type === "tool.finished").map(({ status }) => status)).toEqual([
      "denied",
      "denied",
    ]);
  });

  it("comes to the same tasks after a crash at every write", async () => {
    const one = keeper(
      turn(["task_create", { subject: "Design" }], ["task_create", { subject: "Build", blocked_by: ["1"] }]),
      turn(
        ["todo_write", { todos: [{ content: "x", status: "pending" }] }],
        ["task_update", { id: "1", status: "completed" }],
      ),
      turn(["task_list", {}]),
    );
    const report = await crashSweep({
      agents: [one],
      journey: async (runtime) => (await runtime.send(one, "Go", { idempotencyKey: "1" })).result(),
    });
    expect(report.crashes).toBeGreaterThan(20);
  }, 60_000);
});
