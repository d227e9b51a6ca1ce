/** What the demo model does next: a pure function of the tools' real answers, so that it goes on after a crash as before. */

import type { Json } from "@capstan/core";
import { failedTestsOf, testCountOf, type TestCount, type ToolAnswer } from "./results.ts";

export type DemoTurn = {
  readonly text: string;
  readonly calls?: readonly { readonly name: string; readonly input: { readonly [name: string]: Json } }[];
};

type Repair = { readonly path: string; readonly broken: string; readonly right: string; readonly why: string };

/** All that this model knows to repair. */
const REPAIRS: readonly Repair[] = [
  {
    path: "src/cart.js",
    broken: "sum + item.cents,",
    right: "sum + item.cents * item.quantity,",
    why: "the total leaves out the quantity",
  },
  {
    path: "src/discount.js",
    broken: "cents > FROM_CENTS",
    right: "cents >= FROM_CENTS",
    why: 'the discount starts "from" an amount, but the amount itself is left out',
  },
];
const TEST_COMMAND = "node --test --test-reporter=spec";
/** A run of the tests that a crash cut short is done again, at most so often. */
const MAX_TEST_RUNS = 6;

export function nextTurn(answers: readonly ToolAnswer[]): DemoTurn {
  const listing = answers.find(({ name }) => name === "glob");
  if (listing === undefined) {
    return { text: "I look at what is here first.", calls: [{ name: "glob", input: { pattern: "*.js" } }] };
  }
  const files = listing.text.split("\n").filter((line) => line.endsWith(".js"));
  if (!REPAIRS.some(({ path }) => files.includes(path))) return stranger(files.length);
  const refused = answers.find(({ isError, text }) => isError && text.startsWith("Refused"));
  if (refused !== undefined) return { text: `I stop here: ${refused.name} was refused. ${refused.text}` };
  const edited = answers.findLastIndex(({ name }) => name === "edit");
  const first = lastCount(answers.slice(0, edited === -1 ? undefined : edited));
  if (first === undefined) return test(answers, "I run the tests to see what fails.");
  if (first.count.failed === 0) return { text: `All ${first.count.tests} tests pass. There is nothing to repair.` };
  const reads = answers.filter(({ name }) => name === "read_file");
  if (reads.length === 0) return readAll(first, files);
  if (edited === -1) return repair(reads);
  const second = lastCount(answers.slice(edited));
  if (second === undefined) return test(answers, "Now the same tests again.");
  return report(first.count, second.count, answers);
}

type TestRun = { readonly count: TestCount; readonly output: string };

function lastCount(answers: readonly ToolAnswer[]): TestRun | undefined {
  for (const { name, text } of answers.toReversed()) {
    const count = name === "shell" ? testCountOf(text) : undefined;
    if (count !== undefined) return { count, output: text };
  }
  return undefined;
}

function test(answers: readonly ToolAnswer[], text: string): DemoTurn {
  const runs = answers.filter(({ name }) => name === "shell");
  const last = runs.at(-1);
  if (runs.length >= MAX_TEST_RUNS)
    return { text: `I stop here: ${TEST_COMMAND} gave no result. It said: ${last?.text.slice(0, 300) ?? ""}` };
  const cut = last !== undefined && testCountOf(last.text) === undefined;
  return {
    text: cut ? "That run gave no result. I run the tests again." : text,
    calls: [{ name: "shell", input: { command: TEST_COMMAND } }],
  };
}

function readAll({ count, output }: TestRun, files: readonly string[]): DemoTurn {
  const names = failedTestsOf(output).map((name) => `"${name}"`);
  return {
    text: `${count.failed} of ${count.tests} tests fail: ${names.join(" and ")}. I read the tests and the code, all at once.`,
    calls: files.map((path) => ({ name: "read_file", input: { path } })),
  };
}

function repair(reads: readonly ToolAnswer[]): DemoTurn {
  const found = REPAIRS.flatMap((known) => {
    const line = reads
      .find(({ input }) => input["path"] === known.path)
      ?.text.split("\n")
      .find((text) => text.includes(known.broken));
    return line === undefined ? [] : [{ ...known, line: line.trim().split("\t")[0] ?? "?" }];
  });
  if (found.length === 0)
    return { text: "I have read the code and find none of the mistakes I know. I am scripted: I stop here." };
  const causes = found.map(({ path, line, why }) => `${path}, line ${line}: ${why}`);
  return {
    text: `Found ${found.length === 1 ? "the cause" : `${found.length} causes`}.\n${causes.map((cause) => `- ${cause}.`).join("\n")}\n`,
    calls: found.map(({ path, broken, right }) => ({
      name: "edit",
      input: { path, old_string: broken, new_string: right },
    })),
  };
}

function report(before: TestCount, after: TestCount, answers: readonly ToolAnswer[]): DemoTurn {
  const paths = answers
    .filter(({ name, isError }) => name === "edit" && !isError)
    .flatMap(({ input }) => (typeof input["path"] === "string" ? [input["path"]] : []));
  const changed = `I changed ${paths.length === 0 ? "nothing" : paths.join(" and ")}.`;
  const outcome = after.failed === 0 ? "Repaired" : "Not repaired";
  return {
    text: `${outcome}: before, ${before.passed} of ${before.tests} tests passed; now ${after.passed} of ${after.tests} do. ${changed}`,
  };
}

function stranger(files: number): DemoTurn {
  const seen = files === 0 ? "no JavaScript file" : `${files} JavaScript file${files === 1 ? "" : "s"}`;
  return {
    text:
      `I am Capstan's demo model: scripted, without a network. I see ${seen} here, but I only know the project of "capstan demo". ` +
      "Work of your own needs a real model: set ANTHROPIC_API_KEY, or name one with --model.",
  };
}
