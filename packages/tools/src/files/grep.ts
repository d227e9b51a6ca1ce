/** The tool `grep`: lines of files that match a regular expression. */

import { builtIn, text, tool, type Tool, type ToolOutput } from "@capstan/core";
import { z } from "zod";
import { answering, count, cutAt, failure, neededPath, shownPath } from "../tool-answer.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";
import { NOT_GIT, search, type SearchEnd } from "./ripgrep.ts";
import { searchFolder, type SearchFolder } from "./search-folder.ts";

const input = z.object({
  pattern: z.string().describe("Regular expression in the syntax of ripgrep."),
  path: z.string().optional().describe("Folder or file, relative to the workspace; default the workspace itself."),
  glob: z.string().optional().describe("Only files whose name matches, such as *.ts or !*.test.ts."),
  output: z
    .enum(["content", "files", "count"])
    .optional()
    .describe("content (default): the lines; files: the names of the files; count: matching lines of each file."),
  ignoreCase: z.boolean().optional(),
  literal: z.boolean().optional().describe("The pattern is plain text, not a regular expression."),
  context: z.int().min(0).max(20).optional().describe("Lines to show before and after each match."),
  limit: z
    .int()
    .min(1)
    .max(TOOL_LIMITS.grepMaxLines)
    .optional()
    .describe(`Lines of the result; default ${TOOL_LIMITS.grepLines}.`),
});
type Input = z.infer<typeof input>;

export const grepTool: Tool = builtIn(
  tool({
    name: "grep",
    description:
      "Searches the files of the workspace for a regular expression. Hidden files are searched; .git, what ignore files " +
      "such as .gitignore name, links, binary files and files over 10 MB are not.",
    input,
    kind: "search",
    title: ({ pattern, path = "." }) => `Search ${shownPath(path)} for ${shownPath(cutAt(pattern, 100))}`,
    needs: ({ path = "." }) => [{ type: "read", path: neededPath(path) }],
    rerun: "safe",
    execute: (call, { workspace, signal }) =>
      answering(async () => {
        if (!call.pattern.isWellFormed() || call.pattern.includes("\0"))
          return failure("The pattern contains a character that cannot be searched for.");
        const folder = await searchFolder(workspace, call.path ?? ".");
        if (folder.file !== undefined && folder.size > TOOL_LIMITS.grepFileBytes) {
          return failure(
            `The file has ${count(folder.size, "byte")}; at most ${count(TOOL_LIMITS.grepFileBytes, "byte")} are searched. Use a shell command.`,
          );
        }
        const rows = rowsOf(folder, call.limit ?? TOOL_LIMITS.grepLines);
        const end = await search(workspace, {
          folder: folder.folder,
          arguments: argumentsOf(call, folder.file),
          signal,
          separator: call.output === "files" ? "\0" : "\n",
          onRecord: call.output === "files" ? rows.addFile : rows.addLine,
        });
        return answer(rows.shown, end, rows.full());
      }),
  }),
);

/** The pattern stands behind `--`, every other value in the word of its option: nothing of them can become an option. */
function argumentsOf(call: Input, file: string | undefined): readonly string[] {
  const { output = "content", context = 0 } = call;
  const mode =
    output === "files"
      ? ["--files-with-matches"]
      : output === "count"
        ? ["--count", "--with-filename"]
        : ["--line-number", "--with-filename", "--no-heading", "--no-context-separator", `--context=${context}`];
  return [
    ...mode,
    "--null",
    "--sort=path",
    `--max-filesize=${TOOL_LIMITS.grepFileBytes}`,
    `--max-columns=${TOOL_LIMITS.grepLineCharacters}`,
    "--max-columns-preview",
    ...(call.ignoreCase === true ? ["--ignore-case"] : []),
    ...(call.literal === true ? ["--fixed-strings"] : []),
    ...(file === undefined
      ? [...(call.glob === undefined ? [] : [`--glob=${call.glob}`]), NOT_GIT]
      : ["--max-depth=1", `--glob=/${escapeGlob(file)}`]),
    "--",
    call.pattern,
    "./",
  ];
}

type Rows = {
  readonly shown: readonly string[];
  readonly addFile: (record: string) => boolean;
  readonly addLine: (record: string) => boolean;
  /** Whether there was more than the limits let through. */
  readonly full: () => boolean;
};

function rowsOf({ nameOf }: SearchFolder, limit: number): Rows {
  const shown: string[] = [];
  let characters = 0;
  let isFull = false;
  let open = "";
  const add = (row: string): boolean => {
    isFull = shown.length === limit || characters + row.length > TOOL_LIMITS.grepCharacters;
    if (isFull) return false;
    characters += row.length + 1;
    shown.push(row);
    return true;
  };
  return {
    shown,
    full: () => isFull,
    addFile: (record) => add(shownPath(nameOf(record))),
    addLine(record) {
      const [name = "", ...rest] = (open + record).split("\0");
      if (rest.length === 0) {
        open = `${name}\n`; // a file name with a line end in it: the record goes on
        return true;
      }
      open = "";
      const line = rest.join("\0").replace(/\r$/, "");
      return add(`${shownPath(nameOf(name))}${/^\d+-/.test(line) ? "-" : ":"}${lineOf(line)}`);
    },
  };
}

function lineOf(line: string): string {
  const most = TOOL_LIMITS.grepLineCharacters + 100; // ripgrep counts otherwise and adds a note of its own
  return line.length > most ? `${cutAt(line, most)} [...]` : line;
}

function answer(shown: readonly string[], { status, problem }: SearchEnd, full: boolean): ToolOutput {
  if (problem !== undefined && shown.length === 0) return failure(`The search failed: ${cutAt(problem, 2_000)}`);
  if (shown.length === 0 && status === "done") return { content: [text("No line matches.")] };
  const notes = [
    ...(full ? ["(there are more; use a narrower pattern, path or glob, or a higher limit)"] : []),
    ...(status === "timeout" ? [`(stopped after ${TOOL_LIMITS.searchTimeoutMs / 1_000} s; there may be more)`] : []),
    ...(problem === undefined ? [] : [`(some files could not be searched: ${cutAt(problem, 500)})`]),
  ];
  return {
    content: [text([...shown, ...notes].join("\n"))],
    ...((full || status === "timeout") && { truncated: true }),
  };
}

/** A name as a glob that matches nothing else. */
function escapeGlob(name: string): string {
  return name.replaceAll(/[^\p{L}\p{N}._/-]/gu, String.raw`\$&`);
}
