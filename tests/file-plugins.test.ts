import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { agent, type Fact, textOf } from "@capstan/core";
import { scriptedModel, type ScriptedReply, testRuntime } from "@capstan/core/testing";
import { omissionGuard } from "@capstan/plugins/omission-guard";
import { outputLimit } from "@capstan/plugins/output-limit";
import { readBeforeEdit } from "@capstan/plugins/read-before-edit";
import { repeatRead } from "@capstan/plugins/repeat-read";
import { staleReads } from "@capstan/plugins/stale-reads";
import { fileTools, localWorkspace } from "@capstan/tools";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "./harness/temporary-folder.ts";

const call = (name: string, input: { readonly [name: string]: string | number }): ScriptedReply => ({
  calls: [{ name, input }],
});
const text = `export const first = 1;\n${"// a line of the file\n".repeat(60)}`;

/** One run over a folder with `a.ts`, all file plugins on. */
async function worked(turns: readonly ScriptedReply[] | ((file: string) => readonly ScriptedReply[])) {
  const root = temporaryFolder();
  const file = join(root, "a.ts");
  writeFileSync(file, text);
  const model = scriptedModel(typeof turns === "function" ? turns(file) : turns);
  const coder = agent({
    name: "coder",
    model,
    instructions: "Work.",
    tools: fileTools(),
    plugins: [readBeforeEdit(), omissionGuard(), repeatRead(), staleReads(), outputLimit({ maxCharacters: 3_000 })],
    permission: { mode: "accept-edits" },
  });
  await using runtime = await testRuntime({
    agents: [coder],
    permission: { mode: "accept-edits" },
    workspaces: { local: localWorkspace },
  });
  const session = await runtime.session({ agent: coder, workspace: root });
  await (await session.send("Go")).text();
  const log = await runtime.store.read(session.id, { after: 0, limit: 10_000 });
  return { results: log.flatMap(resultOf), file: readFileSync(file, "utf8"), model };
}

function resultOf(fact: Fact): readonly string[] {
  return fact.type === "tool.finished" ? [`${fact.status}: ${textOf(fact.output.content)}`] : [];
}

describe("the file plugins around the built-in tools", () => {
  const read = call("read_file", { path: "a.ts" });
  const edit = call("edit", { path: "./a.ts", old_string: "first = 1", new_string: "second = 2" });

  it("TOOL-37 TOOL-38 TOOL-39 TOOL-40 work side by side", async () => {
    const { results, file, model } = await worked([
      edit,
      read,
      read,
      call("write_file", { path: "a.ts", content: "export const first = 1;\n// ... rest of the file unchanged\n" }),
      edit,
      call("edit", { path: "a.ts", old_string: "second = 2", new_string: "third = 3" }),
      read,
    ]);
    expect(results).toEqual([
      expect.stringContaining('error: Not done: you have not read "a.ts" yet'),
      expect.stringContaining("ok:      1\texport const first = 1;"),
      expect.stringContaining("ok: The file has not changed since your call read_file"),
      expect.stringContaining("error: Not done: the new text stands in for code"),
      expect.stringContaining("ok: Edited a.ts"),
      expect.stringContaining("ok: Edited a.ts"),
      expect.stringContaining("ok:      1\texport const third = 3;"),
    ]);
    expect(file).toBe(text.replace("first = 1", "third = 3"));
    const lastRequest = JSON.stringify(model.requests.at(-1)?.messages);
    expect(lastRequest).toContain("was edited after this was read");
    expect(lastRequest).not.toContain("1\\texport const first");
  });

  it("TOOL-38 sees what somebody else wrote to the disk", async () => {
    const { results, file } = await worked((path) => [
      read,
      () => {
        writeFileSync(path, `${text}// theirs`);
        return { calls: [{ name: "write_file", input: { path: "a.ts", content: "mine" } }] };
      },
      read,
      edit,
    ]);
    expect(results.slice(1)).toEqual([
      expect.stringContaining('error: Not done: "a.ts" has changed since you read it'),
      expect.stringContaining("// theirs"),
      expect.stringContaining("ok: Edited"),
    ]);
    expect(file).toBe(`${text.replace("first = 1", "second = 2")}// theirs`);
  });

  it("TOOL-20 gives a long file back in parts", async () => {
    const { results } = await worked([
      call("write_file", { path: "long.txt", content: "0123456789\n".repeat(1_000) }),
      call("read_file", { path: "long.txt" }),
      (request) => {
        const said = textOf(
          request.messages.at(-1)?.parts.flatMap((part) => (part.type === "tool-result" ? part.output.content : [])) ??
            [],
        );
        const id = /"id": "(out-[0-9a-f]+)"/.exec(said)?.[1] ?? "none";
        return { calls: [{ name: "read_output", input: { id, offset: 1_500, limit: 100 } }] };
      },
    ]);
    expect(results[1]?.length).toBeLessThan(3_300);
    expect(results[2]).toMatch(/^ok: [\s\S]*0123456789[\s\S]*go on with offset 1600\)$/);
  });
});
