/** The tool `multi_edit`: several exact edits of one file, all of them or none. */

import { builtIn, CapstanError, tool, type Probe, type Tool, type Workspace } from "@capstan/core";
import { z } from "zod";
import { answering, count, failure, neededPath, shownPath } from "../tool-answer.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";
import { changeFile } from "./change-file.ts";
import type { Edit } from "./edit-plan.ts";
import { decodeText } from "./file-text.ts";
import { planEdits, probeEdits } from "./multi-edit-plan.ts";

const MAX_EDITS = 100;

const input = z.object({
  path: z.string().describe("Relative to the workspace."),
  edits: z
    .array(z.object({ old_string: z.string(), new_string: z.string(), replace_all: z.boolean().optional() }))
    .min(1)
    .max(MAX_EDITS)
    .describe("Done in order, each on what the ones before it made."),
});
type Input = z.infer<typeof input>;

export const multiEditTool: Tool = builtIn(
  tool({
    name: "multi_edit",
    description: "Makes several replacements in one text file, each as edit does: all of them or none.",
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
        return changeFile(workspace, call.path, (before) => {
          const plan = planEdits(before, editsOf(call));
          if (!plan.ok) return { ok: false, problem: `${plan.problem} Nothing was changed.` };
          const said = `${count(call.edits.length, "edit")}, ${count(plan.replaced, "replacement")}`;
          return { ok: true, text: plan.text, said };
        });
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
