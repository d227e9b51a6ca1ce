import { describe, expect, it } from "vitest";
import { agent, type Permission, tool } from "@capstan/core";
import { scriptedModel, testRuntime } from "@capstan/core/testing";
import { z } from "zod";
import { aliases } from "./index.ts";

const shell = tool({
  name: "shell",
  description: "Runs.",
  input: z.object({ command: z.string() }),
  rerun: "safe",
  execute: ({ command }) => `ran ${command}`,
});
const look = tool({ name: "look", description: "Looks.", input: z.object({}), rerun: "safe", execute: () => "seen" });

async function play(
  names: { readonly [tool: string]: string },
  called: readonly string[],
  permission: Permission = {},
) {
  const model = scriptedModel([
    ...called.map((name) => ({ calls: [{ name, input: { command: "ls" } }] })),
    { text: "Done." },
  ]);
  const one = agent({
    name: "one",
    model,
    instructions: "x",
    tools: [shell, look],
    plugins: [aliases(names)],
    permission,
    settings: { toolChoice: { tool: "shell" } },
  });
  await using runtime = await testRuntime({ agents: [one] });
  const run = await runtime.send(one, "Go");
  const shown: string[] = [];
  const notices: string[] = [];
  for await (const { event } of run.events()) {
    if (event.type === "notice") notices.push(event.title);
    if (event.type === "block.started" && event.block.type === "tool-input") shown.push(event.block.name);
  }
  const result = await run.result();
  const log = await runtime.store.read("ses_1", { after: 0, limit: 200 });
  return { model, shown, notices, result, log };
}
const namesIn = (messages: readonly { readonly parts: readonly { readonly type: string }[] }[]) =>
  messages.flatMap(({ parts }) =>
    parts.flatMap((part) => ("name" in part ? [`${part.type} ${String(part.name)}`] : [])),
  );

describe("aliases", () => {
  it("TOOL-12 shows the model other names and keeps the tools' own everywhere else", async () => {
    const { model, shown, result, log } = await play({ shell: "Bash" }, ["Bash"]);
    expect(model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
      ["Bash", "look"],
      ["Bash", "look"],
    ]);
    expect(model.requests[1] && namesIn(model.requests[1].messages)).toEqual(["tool-call Bash", "tool-result Bash"]);
    expect(model.requests[0]?.settings.toolChoice).toEqual({ tool: "Bash" });
    expect(namesIn(result.messages)).toEqual(["tool-call shell", "tool-result shell"]);
    expect(shown).toEqual(["shell"]);
    expect(log.filter((fact) => fact.type === "tool.finished").map(({ name, status }) => [name, status])).toEqual([
      ["shell", "ok"],
    ]);
  });

  it("TOOL-12 holds rules against the own name", async () => {
    const { log } = await play({ shell: "Bash" }, ["Bash"], { deny: ["shell"] });
    expect(log.filter((fact) => fact.type === "tool.finished").map(({ status }) => status)).toEqual(["denied"]);
  });

  it("TOOL-12 keeps the prefix and the messages the same objects from turn to turn", async () => {
    const { model, notices } = await play({ shell: "Bash" }, ["Bash", "shell"]);
    expect(notices).toEqual([]);
    const [first, second, third] = model.requests;
    expect(third?.tools).toBe(first?.tools);
    expect(third?.messages[1]).toBe(second?.messages[1]);
    expect(third && namesIn(third.messages)).toEqual([
      "tool-call Bash",
      "tool-result Bash",
      "tool-call Bash",
      "tool-result Bash",
    ]);
  });

  it("refuses names that no model takes, that stand twice, or that are another tool's", async () => {
    for (const names of [{ shell: "a b" }, { shell: "" }, { shell: "X", look: "X" }]) {
      expect(() => aliases(names)).toThrowError(expect.objectContaining({ code: "plugin-invalid" }));
    }
    const { result } = await play({ shell: "look" }, []);
    expect([result.reason, result.error?.message]).toEqual(["error", "aliases: look is also the own name of a tool"]);
    expect((await play({ shell: "look", look: "shell" }, ["look"])).result.reason).toBe("end-turn");
  });
});
