/** The tool `glob`: files by their name. */

import { builtIn, text, tool, type Tool, type ToolOutput } from "@capstan/core";
import { z } from "zod";
import { answering, failure, neededPath, shownPath } from "../tool-answer.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";
import { parseGlob } from "./glob-pattern.ts";
import { NOT_SEARCHED, search, type SearchEnd } from "./ripgrep.ts";
import { searchFolder } from "./search-folder.ts";

const input = z.object({
  pattern: z.string().describe("Such as src/**/*.ts; without a slash it matches the name in every folder."),
  path: z.string().optional().describe("Folder, relative to the workspace; default all of it."),
});

export const globTool: Tool = builtIn(
  tool({
    name: "glob",
    description:
      "Finds files by name, sorted by path; hidden ones too, but not .git, links and what .gitignore and the like name. " +
      `Shows at most ${TOOL_LIMITS.globFiles}.`,
    input,
    kind: "search",
    title: ({ pattern }) => `Find files ${shownPath(pattern)}`,
    needs: ({ path = "." }) => [{ type: "read", path: neededPath(path) }],
    rerun: "safe",
    execute: ({ pattern, path = "." }, { workspace, signal }) =>
      answering(async () => {
        const glob = parseGlob(pattern);
        if (typeof glob === "string") return failure(glob);
        const { folder, file, nameOf } = await searchFolder(workspace, path);
        if (file !== undefined) return failure(`${shownPath(path)} is a file, not a folder.`);
        const found: string[] = [];
        const end = await search(workspace, {
          folder,
          arguments: ["--files", "--null", "--sort=path", ...NOT_SEARCHED, "--", "./"],
          signal,
          separator: "\0",
          onRecord(record) {
            if (glob.matches(record.replace(/^\.\//, ""))) found.push(nameOf(record));
            return found.length <= TOOL_LIMITS.globFiles;
          },
        });
        if (end.problem !== undefined) return failure(`The search failed: ${end.problem}`);
        return answer(found, end);
      }),
  }),
);

function answer(found: readonly string[], { status, unread }: SearchEnd): ToolOutput {
  const late = status === "timeout";
  const shown = found.slice(0, TOOL_LIMITS.globFiles).map((path) => shownPath(path));
  if (shown.length === 0 && !late) shown.push("No file matches.");
  const more = found.length > shown.length;
  if (more) shown.push(`(only the first ${TOOL_LIMITS.globFiles} are shown; use a narrower pattern or path)`);
  if (late) shown.push(`(stopped after ${TOOL_LIMITS.searchTimeoutMs / 1_000} s; there may be more)`);
  if (unread === true) shown.push("(some folders could not be read)");
  return { content: [text(shown.join("\n"))], ...((more || late) && { truncated: true }) };
}
