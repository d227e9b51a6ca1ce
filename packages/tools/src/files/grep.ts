/** The tool `grep`: lines of files that match a regular expression. */

import { builtIn, text, tool, type Tool, type ToolOutput } from "@capstan/core";
import { z } from "zod";
import { answering, count, cutAt, failure, neededPath, shownPath } from "../tool-answer.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";
import { type GlobPattern, parseGlob } from "./glob-pattern.ts";
import { NOT_SEARCHED, search, type SearchEnd } from "./ripgrep.ts";
import { searchFolder, type SearchFolder } from "./search-folder.ts";

const input = z.object({
  pattern: z.string().describe("Regular expression of ripgrep: within a line, no look-around."),
  path: z.string().optional().describe("Folder or file, relative to the workspace; default all of it."),
  glob: z.string().optional().describe("Only these files, such as *.ts or !*.test.ts."),
  output: z
    .enum(["content", "files", "count"])
    .optional()
    .describe("content (default): lines; files: names; count: how many lines of each file."),
  ignoreCase: z.boolean().optional(),
  literal: z.boolean().optional().describe("The pattern is plain text."),
  context: z.int().min(0).max(20).optional().describe("Lines around each match."),
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
      "Finds lines of files; of hidden ones too, but not of .git, links, binary files, files over 10 MB and what .gitignore " +
      "and the like name.",
    input,
    kind: "search",
    title: ({ pattern, path = "." }) => `Search ${shownPath(path)} for ${shownPath(cutAt(pattern, 100))}`,
    needs: ({ path = "." }) => [{ type: "read", path: neededPath(path) }],
    rerun: "safe",
    execute: (call, { workspace, signal }) =>
      answering(async () => {
        if (!call.pattern.isWellFormed() || call.pattern.includes("\0"))
          return failure("The pattern contains a character that cannot be searched for.");
        const only = globOf(call.glob);
        if (typeof only === "string") return failure(`glob: ${only}`);
        const folder = await searchFolder(workspace, call.path ?? ".");
        if (folder.file !== undefined && folder.size > TOOL_LIMITS.grepFileBytes) {
          return failure(
            `The file has ${count(folder.size, "byte")}; at most ${count(TOOL_LIMITS.grepFileBytes, "byte")} are searched. Use a shell command.`,
          );
        }
        const rows = rowsOf(folder, only, call.limit ?? TOOL_LIMITS.grepLines);
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
    "--crlf",
    ...(call.ignoreCase === true ? ["--ignore-case"] : []),
    ...(call.literal === true ? ["--fixed-strings"] : []),
    ...(file === undefined
      ? [...narrowing(call.glob), ...NOT_SEARCHED]
      : ["--max-depth=1", `--glob=/${escapeGlob(file)}`]),
    "--",
    call.pattern,
    "./",
  ];
}

/** Undefined for all files, and where ripgrep leaves out those that match. */
function globOf(glob: string | undefined): GlobPattern | string | undefined {
  return glob === undefined || glob.startsWith("!") ? undefined : parseGlob(glob);
}

/** The name at the end of a glob, and braces in it that ripgrep reads as we do. */
const LAST_NAME = /(?:^|\/)([\w.*?@+,{}-]+)$/;
const BRACES = /\{[^{}]*,[^{}]*\}/g;

/**
 * What keeps ripgrep from reading files in vain: a glob of its own would also let in what ignore files name, a type does
 * not. What it lets through is matched against the whole glob.
 */
function narrowing(glob: string | undefined): readonly string[] {
  if (glob === undefined) return [];
  if (glob.startsWith("!")) return [`--glob=${glob}`];
  const name = LAST_NAME.exec(glob)?.[1];
  const isPlain = name !== undefined && name !== "**" && !/[{}]/.test(name.replaceAll(BRACES, ""));
  return !isPlain ? [] : [`--type-add=wanted:${name}`, "--type=wanted"];
}

type Rows = {
  readonly shown: readonly string[];
  readonly addFile: (record: string) => boolean;
  readonly addLine: (record: string) => boolean;
  /** Whether there was more than the limits let through. */
  readonly full: () => boolean;
};

function rowsOf({ nameOf, file }: SearchFolder, only: GlobPattern | undefined, limit: number): Rows {
  const shown: string[] = [];
  let characters = 0;
  let isFull = false;
  let open = "";
  const isMeant = (name: string): boolean =>
    only === undefined || file !== undefined || only.matches(name.replace(/^\.\//, ""));
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
    addFile: (record) => !isMeant(record) || add(shownPath(nameOf(record))),
    addLine(record) {
      const [name = "", ...rest] = (open + record).split("\0");
      if (rest.length === 0) {
        open = `${name}\n`; // a file name with a line end in it: the record goes on
        return true;
      }
      open = "";
      if (!isMeant(name)) return true;
      const line = rest.join("\0").replace(/\r$/, "");
      return add(`${shownPath(nameOf(name))}${/^\d+-/.test(line) ? "-" : ":"}${lineOf(line)}`);
    },
  };
}

function lineOf(line: string): string {
  const most = TOOL_LIMITS.grepLineCharacters + 100; // ripgrep counts otherwise and adds a note of its own
  return line.length > most ? `${cutAt(line, most)} [...]` : line;
}

function answer(shown: readonly string[], end: SearchEnd, full: boolean): ToolOutput {
  const { status, problem, unread } = end;
  if (problem !== undefined && shown.length === 0) return failure(`The search failed: ${cutAt(problem, 2_000)}`);
  const lines = shown.length === 0 && status === "done" ? ["No line matches."] : shown;
  const notes = [
    ...(full ? ["(there are more; use a narrower pattern, path or glob, or a higher limit)"] : []),
    ...(status === "timeout" ? [`(stopped after ${TOOL_LIMITS.searchTimeoutMs / 1_000} s; there may be more)`] : []),
    ...(problem === undefined ? [] : [`(some files could not be searched: ${cutAt(problem, 500)})`]),
    ...(unread === true ? ["(some files could not be read)"] : []),
  ];
  return {
    content: [text([...lines, ...notes].join("\n"))],
    ...((full || status === "timeout" || problem !== undefined) && { truncated: true }),
  };
}

/** A name as a glob that matches nothing else. */
function escapeGlob(name: string): string {
  return name.replaceAll(/[^\p{L}\p{N}._/-]/gu, String.raw`\$&`);
}
