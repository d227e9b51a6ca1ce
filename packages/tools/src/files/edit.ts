/** The tool `edit`: replaces a text that stands in a file, once or everywhere. */

import { builtIn, CapstanError, text, tool, type Probe, type Tool, type Workspace } from "@capstan/core";
import { z } from "zod";
import { answering, count, failure, neededPath, shownPath } from "../tool-answer.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";
import { planEdit, probeEdit, type Edit } from "./edit-plan.ts";
import { decodeText } from "./file-text.ts";
import { textDiff } from "./text-diff.ts";

const input = z.object({
  path: z.string().describe("Path of the file, relative to the workspace."),
  old_string: z.string().describe("The text to replace, exactly as it stands in the file."),
  new_string: z.string().describe("The text that takes its place."),
  replace_all: z.boolean().optional().describe("Replace every occurrence. Without it there must be exactly one."),
});
type Input = z.infer<typeof input>;

export const editTool: Tool = builtIn(
  tool({
    name: "edit",
    description:
      "Replaces old_string by new_string in a text file of the workspace. Line ends are kept as the file has them; " +
      "line numbers pasted from read_file are ignored.",
    input,
    kind: "edit",
    title: ({ path }) => `Edit ${shownPath(path)}`,
    needs: ({ path }) => [{ type: "write", path: neededPath(path) }],
    rerun: "never",
    interruptible: false,
    execute: (call, { workspace }) =>
      answering(async () => {
        if (!call.new_string.isWellFormed())
          return failure("new_string contains half of a character (a lone surrogate).");
        const file = await workspace.read(call.path, { maxBytes: TOOL_LIMITS.fileBytes, exact: true });
        const before = decodeText(file.bytes, call.path);
        const plan = planEdit(before, editOf(call));
        if (!plan.ok) return failure(`${shownPath(call.path)}: ${plan.problem}`);
        const bytes = new TextEncoder().encode(plan.text);
        if (bytes.length > TOOL_LIMITS.fileBytes)
          return failure(`The file would have ${count(bytes.length, "byte")}. Nothing was changed.`);
        await workspace.write(call.path, bytes, { expected: file.hash, exact: true });
        const where = plan.lines.length === 1 ? `line ${plan.lines[0]}` : `lines ${plan.lines.join(", ")}`;
        const more = plan.replaced > plan.lines.length ? " and further" : "";
        return {
          content: [
            text(`Edited ${shownPath(file.path)}: ${count(plan.replaced, "replacement")} at ${where}${more}.`),
            textDiff(file.path, before, plan.text),
          ],
        };
      }),
    probe: (call, { workspace }) => probe(workspace, call),
  }),
);

async function probe(workspace: Workspace, call: Input): Promise<Probe> {
  try {
    const { bytes } = await workspace.read(call.path, { maxBytes: TOOL_LIMITS.fileBytes, exact: true });
    return probeEdit(decodeText(bytes, call.path), editOf(call));
  } catch (error) {
    if (CapstanError.is(error)) return "unknown";
    throw error;
  }
}

function editOf(call: Input): Edit {
  return { oldString: call.old_string, newString: call.new_string, replaceAll: call.replace_all ?? false };
}
