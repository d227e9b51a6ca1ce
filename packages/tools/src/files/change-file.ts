/** Reads a text file, plans a change of it and writes that: calls of this process on one file do so one after the other. */

import { resolve } from "node:path";
import type { ToolOutput, Workspace } from "@capstan/core";
import { OneAtATime } from "../one-at-a-time.ts";
import { count, failure, shownPath } from "../tool-answer.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";
import { decodeText } from "./file-text.ts";
import { textDiff } from "./text-diff.ts";

/** The text after the change and what to say of it; or why it cannot be made. */
export type Change =
  | { readonly ok: true; readonly text: string; readonly said: string }
  | { readonly ok: false; readonly problem: string };

const changes = new OneAtATime();

/** Throws as `Workspace.read` and `Workspace.write`; `file-changed` when somebody else wrote the file meanwhile. */
export function changeFile(workspace: Workspace, path: string, plan: (before: string) => Change): Promise<ToolOutput> {
  return changes.run(resolve(workspace.root, path), async () => {
    const file = await workspace.read(path, { maxBytes: TOOL_LIMITS.fileBytes, exact: true });
    const before = decodeText(file.bytes, path);
    const change = plan(before);
    if (!change.ok) return failure(`${shownPath(path)}: ${change.problem}`);
    const bytes = new TextEncoder().encode(change.text);
    if (bytes.length > TOOL_LIMITS.fileBytes)
      return failure(`The file would have ${count(bytes.length, "byte")}. Nothing was changed.`);
    await workspace.write(path, bytes, { expected: file.hash, exact: true });
    return {
      content: [
        { type: "text", text: `Edited ${shownPath(file.path)}: ${change.said}.` },
        textDiff(file.path, before, change.text),
      ],
    };
  });
}
