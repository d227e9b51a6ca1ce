/** What the tools have answered so far, in the order of the conversation. */

import { textOf, type Json, type Message } from "@capstan/core";

export type ToolAnswer = {
  readonly name: string;
  readonly input: { readonly [name: string]: Json };
  readonly text: string;
  readonly isError: boolean;
};

/** Answers since the last message of the user. */
export function resultsOf(messages: readonly Message[]): readonly ToolAnswer[] {
  const start = messages.findLastIndex(
    ({ role, parts }) => role === "user" && parts.some(({ type }) => type === "text"),
  );
  const recent = messages.slice(Math.max(start, 0));
  const inputs = new Map<string, ToolAnswer["input"]>();
  const answers: ToolAnswer[] = [];
  for (const part of recent.flatMap(({ parts }) => parts)) {
    if (part.type === "tool-call") inputs.set(part.callId, asObject(part.input));
    if (part.type !== "tool-result") continue;
    const { callId, name, output } = part;
    answers.push({
      name,
      input: inputs.get(callId) ?? {},
      text: textOf(output.content),
      isError: output.isError === true,
    });
  }
  return answers;
}

/** Numbers of a run of `node --test`; undefined when the output does not hold them. */
export type TestCount = { readonly tests: number; readonly passed: number; readonly failed: number };

export function testCountOf(output: string): TestCount | undefined {
  const number = (name: string): number | undefined => {
    const found = new RegExp(`^\\S+ ${name} (\\d+)$`, "m").exec(output)?.[1];
    return found === undefined ? undefined : Number(found);
  };
  const tests = number("tests");
  const passed = number("pass");
  const failed = number("fail");
  if (tests === undefined || passed === undefined || failed === undefined) return undefined;
  return { tests, passed, failed };
}

/** Names of the failed tests, as `node --test` lists them. */
export function failedTestsOf(output: string): readonly string[] {
  const names = Array.from(output.matchAll(/^\s*✖ (.+?) \([\d.]+ms\)$/gm), ([, name]) => name ?? "");
  return [...new Set(names)];
}

function asObject(value: Json): ToolAnswer["input"] {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as ToolAnswer["input"]) : {}; // a JSON object by now
}
