import { describe, expect, it } from "vitest";
import { agent, type Answer, type Json, textOf } from "@capstan/core";
import { crashSweep, scriptedModel, testRuntime } from "@capstan/core/testing";
import { askTool } from "./ask.ts";

const database = {
  header: "Database",
  question: "Which database?",
  options: [
    { label: "SQLite", description: "One file." },
    { label: "Postgres", description: "A server." },
  ],
};
const features = { ...database, header: "Features", question: "Which features?", multiSelect: true };

const asker = (questions: Json) =>
  agent({
    name: "asker",
    model: scriptedModel([{ calls: [{ name: "ask_user", input: { questions } }] }, { text: "Done." }]),
    instructions: "Ask.",
    tools: [askTool],
  });

/** What the model reads when the questions are answered so. */
async function told(questions: Json, answers: { readonly [header: string]: string | readonly string[] } = {}) {
  const one = asker(questions);
  await using runtime = await testRuntime({ agents: [one], permission: { mode: "ask" } });
  const run = await runtime.send(one, "Go");
  const waiting = await run.result();
  for (const { requestId } of waiting.requests) await run.session.respond(requestId, { type: "question", answers });
  const { messages } = await run.result();
  const output = messages
    .flatMap(({ parts }) => parts)
    .flatMap((part) => (part.type === "tool-result" ? [part.output] : []))[0];
  return { waiting, text: textOf(output?.content ?? []), isError: output?.isError === true };
}

describe("ask_user", () => {
  it("TOOL-31 waits with its questions open and gives the model what was chosen", async () => {
    const { waiting, text } = await told([database, features], {
      Database: "SQLite",
      Features: ["Postgres", "a queue of our own"],
    });
    expect(waiting.status).toBe("waiting");
    expect(waiting.requests.map(({ body }) => body)).toEqual([
      {
        type: "question",
        callId: expect.any(String) as string,
        questions: [{ ...database, multiSelect: false }, features],
      },
    ]);
    expect(text).toBe("Which database?\n- SQLite\n\nWhich features?\n- Postgres\n- Other: a queue of our own");
  });

  it("TOOL-31 takes free words for any question, and says where there is no answer", async () => {
    const { text, isError } = await told([database, features], { Database: "a text file" });
    expect([text, isError]).toEqual(["Which database?\n- Other: a text file\n\nWhich features?\n(no answer)", false]);
  });

  it("TOOL-31 keeps its bounds: the model is told what is wrong and nobody is asked", async () => {
    const [first = { label: "", description: "" }] = database.options;
    const wrong: readonly (readonly [Json, RegExp])[] = [
      [[], /questions/],
      [Array.from({ length: 5 }, (_, index) => ({ ...database, header: `Q${index}` })), /questions/],
      [[{ ...database, options: [first] }], /options/],
      [
        [{ ...database, options: Array.from({ length: 5 }, (_, index) => ({ ...first, label: `o${index}` })) }],
        /options/,
      ],
      [[{ ...database, header: "Thirteen char" }], /header/],
      [[{ ...database, header: " " }], /header/],
      [[{ ...database, question: "" }], /question/],
      [[database, database], /header of its own/],
      [[{ ...database, options: [first, first] }], /labels of their own/],
    ];
    for (const [questions, problem] of wrong) {
      const { waiting, text, isError } = await told(questions);
      expect([waiting.status, isError]).toEqual(["finished", true]);
      expect(text).toMatch(problem);
    }
  });

  it("TOOL-31 goes on without an answer where nobody can be asked", async () => {
    const one = asker([database]);
    await using runtime = await testRuntime({ agents: [one] });
    const result = await (await runtime.send(one, "Go")).result();
    expect(result.status).toBe("finished");
    expect(JSON.stringify(result.messages)).toContain("Nobody answered.");
  });

  it("asks once, whenever a crash comes", async () => {
    const answer: Answer = { type: "question", answers: { Database: "SQLite" } };
    const report = await crashSweep({
      agents: [asker([database])],
      onRequest: async () => answer,
      journey: async (runtime) => runtime.send(asker([database]), "Go", { idempotencyKey: "1" }),
    });
    expect(report.crashes).toBeGreaterThan(10);
  }, 60_000);
});
