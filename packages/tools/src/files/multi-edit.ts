/** The tool `multi_edit`: several exact edits of one file, all of them or none. */

import { builtIn, CapstanError, text, tool, type Probe, type Tool, type Workspace } from "@capstan/core";
import { z } from "zod";
import { answering, count, failure, neededPath, shownPath } from "../tool-answer.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";
import type { Edit } from "./edit-plan.ts";
import { decodeText } from "./file-text.ts";
import { planEdits, probeEdits } from "./multi-edit-plan.ts";
import { textDiff } from "./text-diff.ts";

const MAX_EDITS = 100;

const input = z.object({
  path: z.string().describe("Path of the file, relative to the workspace."),
  edits: z
    .array(
      z.object({
        old_string: z.string().describe("The text to replace, exactly as it stands after the edits before this one."),
        new_string: z.string().describe("The text that takes its place."),
        replace_all: z.boolean().optional().describe("Replace every occurrence. Without it there must be exactly one."),
      }),
    )
    .min(1)
    .max(MAX_EDITS)
    .describe("Done in this order, each on what the ones before it made."),
});
type Input = z.infer<typeof input>;

export const multiEditTool: Tool = builtIn(
  tool({
    name: "multi_edit",
    description:
      "Makes several replacements in one text file of the workspace at once, as edit does each of them. When one cannot " +
      "be made, none is.",
    input,
    kind: "edit",
    title: ({ path, edits }) => `Edit ${shownPath(path)} (${count(edits.length, "edit")})`,
    needs: ({ path }) => [{ type: "write", path: neededPath(path) }],
    rerun: "never",
    interruptible: false,
    execute: (call, { workspace }) =>
      answering(async () => {
        const broken = call.edits.findIndex(({ new_string: added }) => !added.isWellFormed());
        if (broken !== -1)
          return failure(`The new_string of edit ${broken + 1} contains half of a character (a lone surrogate).`);
        const file = await workspace.read(call.path, { maxBytes: TOOL_LIMITS.fileBytes, exact: true });
        const before = decodeText(file.bytes, call.path);
        const plan = planEdits(before, editsOf(call));
        if (!plan.ok) return failure(`${shownPath(call.path)}: ${plan.problem} Nothing was changed.`);
        const bytes = new TextEncoder().encode(plan.text);
        if (bytes.length > TOOL_LIMITS.fileBytes)
          return failure(`The file would have ${count(bytes.length, "byte")}. Nothing was changed.`);
        await workspace.write(call.path, bytes, { expected: file.hash, exact: true });
        const done = `${count(call.edits.length, "edit")}, ${count(plan.replaced, "replacement")}`;
        return { content: [text(`Edited ${shownPath(file.path)}: ${done}.`), textDiff(file.path, before, plan.text)] };
      }),
    probe: (call, { workspace }) => probe(workspace, call),
  }),
);

async function probe(workspace: Workspace, call: Input): Promise<Probe> {
  try {
    const { bytes } = await workspace.read(call.path, { maxBytes: TOOL_LIMITS.fileBytes, exact: true });
    return probeEdits(decodeText(bytes, call.path), editsOf(call));
  } catch (error) {
    if (CapstanError.is(error)) return "unknown";
    throw error;
  }
}

function editsOf({ edits }: Input): readonly Edit[] {
  return edits.map(({ old_string: oldString, new_string: newString, replace_all: replaceAll = false }) => ({
    oldString,
    newString,
    replaceAll,
  }));
}
