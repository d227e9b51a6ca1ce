/** The tool `edit`: replaces a text that stands in a file, once or everywhere. */

import { builtIn, CapstanError, tool, type Probe, type Tool, type Workspace } from "@capstan/core";
import { z } from "zod";
import { answering, count, failure, neededPath, shownPath } from "../tool-answer.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";
import { changeFile } from "./change-file.ts";
import { planEdit, probeEdit, type Edit } from "./edit-plan.ts";
import { decodeText } from "./file-text.ts";

const input = z.object({
  path: z.string().describe("Relative to the workspace."),
  old_string: z.string().describe("Exactly as it stands in the file."),
  new_string: z.string(),
  replace_all: z.boolean().optional().describe("Every occurrence. Without it there must be exactly one."),
});
type Input = z.infer<typeof input>;

export const editTool: Tool = builtIn(
  tool({
    name: "edit",
    description:
      "Replaces old_string by new_string in a text file. Line ends stay as the file has them; pasted line numbers of " +
      "read_file are ignored.",
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
        return changeFile(workspace, call.path, (before) => {
          const plan = planEdit(before, editOf(call));
          if (!plan.ok) return plan;
          const where = plan.lines.length === 1 ? `line ${plan.lines[0]}` : `lines ${plan.lines.join(", ")}`;
          const more = plan.replaced > plan.lines.length ? " and further" : "";
          return { ok: true, text: plan.text, said: `${count(plan.replaced, "replacement")} at ${where}${more}` };
        });
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
