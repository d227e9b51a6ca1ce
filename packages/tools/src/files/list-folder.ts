/** The tool `list`: what is in a folder. */

import {
  builtIn,
  CapstanError,
  text,
  tool,
  type FileInfo,
  type Tool,
  type ToolOutput,
  type Workspace,
} from "@capstan/core";
import { z } from "zod";
import { answering, neededPath, shownPath } from "../tool-answer.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";

const input = z.object({ path: z.string().optional().describe("Relative to the workspace; default all of it.") });

export const listTool: Tool = builtIn(
  tool({
    name: "list",
    description: "Lists a folder: names of folders end in /, files have their size in bytes.",
    input,
    kind: "read",
    title: ({ path = "." }) => `List ${shownPath(path)}`,
    needs: ({ path = "." }) => [{ type: "read", path: neededPath(path) }],
    rerun: "safe",
    execute: ({ path = "." }, { workspace, signal }) => listForModel(path, workspace, signal),
  }),
);

/** A folder as a model is shown it. What it can put right is an error result. */
export function listForModel(path: string, workspace: Workspace, signal: AbortSignal): Promise<ToolOutput> {
  return answering(async () => {
    const entries = await entriesOf(workspace, path, signal);
    if (entries.length === 0) return { content: [text(`${shownPath(path)} is empty.`)] };
    const rows = entries.slice(0, TOOL_LIMITS.listEntries).map((entry) => rowOf(entry));
    const more = entries.length - rows.length;
    if (more > 0) rows.push(`(${more} more not shown; use glob)`);
    return { content: [text(rows.join("\n"))], ...(more > 0 && { truncated: true }) };
  });
}

async function entriesOf(workspace: Workspace, path: string, signal: AbortSignal): Promise<readonly FileInfo[]> {
  try {
    return await workspace.list(path, { exact: true, signal });
  } catch (error) {
    if (!CapstanError.is(error, "file-too-large")) throw error;
    throw new CapstanError("tool-failed", `${error.message}. Use glob with a pattern`, { cause: error });
  }
}

function rowOf({ path, type, size }: FileInfo): string {
  const name = shownPath(path.slice(path.lastIndexOf("/") + 1));
  switch (type) {
    case "folder":
      return `${name}/`;
    case "file":
      return `${name}\t${size}`;
    case "other":
      return `${name}\t(special, or a link that leads nowhere or outside)`;
    default:
      return type satisfies never;
  }
}
