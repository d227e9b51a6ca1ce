import { describe, expect, it } from "vitest";
import { CapstanError, type Message } from "@capstan/core";
import { demo, demoModel } from "./demo.ts";
import { resultsOf, type ToolAnswer } from "./demo/results.ts";
import { nextTurn } from "./demo/script.ts";
import { collectEvents, modelRequest } from "./testing/index.ts";

const answer = (name: string, text: string, input: ToolAnswer["input"] = {}, isError = false): ToolAnswer => ({
  name,
  input,
  text,
  isError,
});
const listing = answer("glob", "src/cart.js\nsrc/discount.js\ntest/cart.test.js");
const failing = answer("shell", "✖ twice (1.2ms)\nℹ tests 5\nℹ pass 4\nℹ fail 1\n");
const passing = answer("shell", "ℹ tests 5\nℹ pass 5\nℹ fail 0\n");
const cart = answer("read_file", "     1\tx(sum + item.cents, 0)", { path: "src/cart.js" });
const edited = answer("edit", "Edited", { path: "src/cart.js" });

describe("demoModel", () => {
  it("reads all files in one turn and edits only what it has read", () => {
    expect(nextTurn([listing, failing]).calls?.map(({ name }) => name)).toEqual([
      "read_file",
      "read_file",
      "read_file",
    ]);
    expect(nextTurn([listing, failing, cart]).calls).toEqual([
      {
        name: "edit",
        input: {
          path: "src/cart.js",
          old_string: "sum + item.cents,",
          new_string: "sum + item.cents * item.quantity,",
        },
      },
    ]);
  });

  it("reports the numbers that the tests gave, good or bad", () => {
    expect(nextTurn([listing, failing, cart, edited, passing]).text).toContain(
      "before, 4 of 5 tests passed; now 5 of 5",
    );
    expect(nextTurn([listing, failing, cart, edited, failing]).text).toContain("Not repaired");
  });

  it("runs tests again that a crash cut short, but not for ever", () => {
    const unknown = answer("shell", "A crash came after this call had started.", {}, true);
    expect(nextTurn([listing, unknown]).calls?.[0]?.name).toBe("shell");
    expect(nextTurn([listing, ...Array<ToolAnswer>(6).fill(unknown)]).calls).toBeUndefined();
  });

  it("stops when it is refused, and in a project it does not know", () => {
    expect(nextTurn([listing, answer("shell", "Refused: no", {}, true)]).calls).toBeUndefined();
    expect(nextTurn([answer("glob", "No file matches.")]).text).toContain("demo model");
  });

  it("counts only what was answered since the user spoke last", () => {
    const message = (role: Message["role"], ...parts: Message["parts"]): Message => ({ id: "m", role, parts });
    const old = message("user", {
      type: "tool-result",
      callId: "1",
      name: "glob",
      output: { content: [{ type: "text", text: "a.js" }] },
    });
    expect(resultsOf([old, message("user", { type: "text", text: "again" })])).toEqual([]);
  });

  it("ends its stream whole and charges nothing", async () => {
    const events = await collectEvents(demoModel(), modelRequest([]));
    expect(events.at(-1)).toMatchObject({ type: "finish", reason: "tool-calls", usage: { costMicroUsd: 0 } });
    expect(() => demo("other")).toThrow(CapstanError);
  });
});
