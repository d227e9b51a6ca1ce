/** The tool `glob`: files by their name. */

import { builtIn, text, tool, type Tool, type ToolOutput } from "@capstan/core";
import { z } from "zod";
import { answering, failure, neededPath, shownPath } from "../tool-answer.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";
import { parseGlob } from "./glob-pattern.ts";
import { NOT_GIT, search } from "./ripgrep.ts";
import { searchFolder } from "./search-folder.ts";

const input = z.object({
  pattern: z.string().describe("Glob such as src/**/*.ts; without a slash it matches the name in every folder."),
  path: z.string().optional().describe("Folder to search, relative to the workspace; default the workspace itself."),
});

export const globTool: Tool = builtIn(
  tool({
    name: "glob",
    description:
      "Finds files of the workspace by a glob pattern, sorted by path. Hidden files are found; .git, what ignore files " +
      `such as .gitignore name, and links are not. Shows at most ${TOOL_LIMITS.globFiles} files.`,
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
        const { status, problem } = await search(workspace, {
          folder,
          arguments: ["--files", "--null", "--sort=path", NOT_GIT, "--", "./"],
          signal,
          separator: "\0",
          onRecord(record) {
            if (glob.matches(record.replace(/^\.\//, ""))) found.push(nameOf(record));
            return found.length <= TOOL_LIMITS.globFiles;
          },
        });
        if (problem !== undefined) return failure(`The search failed: ${problem}`);
        return answer(found, status === "timeout");
      }),
  }),
);

function answer(found: readonly string[], late: boolean): ToolOutput {
  const shown = found.slice(0, TOOL_LIMITS.globFiles).map((path) => shownPath(path));
  if (shown.length === 0 && !late) return { content: [text("No file matches.")] };
  const more = found.length > shown.length;
  if (more) shown.push(`(only the first ${TOOL_LIMITS.globFiles} are shown; use a narrower pattern or path)`);
  if (late) shown.push(`(stopped after ${TOOL_LIMITS.searchTimeoutMs / 1_000} s; there may be more)`);
  return { content: [text(shown.join("\n"))], ...((more || late) && { truncated: true }) };
}
