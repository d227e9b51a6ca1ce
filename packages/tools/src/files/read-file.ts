/** The tool `read_file`: numbered lines of a text file, a part at a time; images and PDFs to look at. */

import { builtIn, text, tool, type Tool, type ToolOutput, type Workspace } from "@capstan/core";
import { z } from "zod";
import { answering, count, cutAt, failure, neededPath, shownPath } from "../tool-answer.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";
import { decodeText, linesFrom, withoutMark } from "./file-text.ts";
import { FIRST_BYTES, mediaKind, mediaOutput } from "./media.ts";

export type ReadFileOptions = {
  /** Default true. The model may ask for the other by `lineNumbers`. */
  readonly lineNumbers?: boolean;
};

const input = z.object({
  path: z.string().describe("Relative to the workspace."),
  offset: z.int().min(1).optional().describe("First line, counted from 1."),
  limit: z.int().min(1).max(TOOL_LIMITS.readLines).optional().describe(`Lines; default ${TOOL_LIMITS.readLines}.`),
  lineNumbers: z.boolean().optional().describe("Whether lines start with their number."),
});

export function readFileTool({ lineNumbers = true }: ReadFileOptions = {}): Tool {
  return builtIn(
    tool({
      name: "read_file",
      description:
        `Reads a text file, or shows an image (PNG, JPEG, GIF, WebP) or a PDF. ${lineNumbers ? "Each line starts with its number and a tab. " : ""}` +
        `At most ${TOOL_LIMITS.readLines} lines at once: go on with offset. Lines over ${TOOL_LIMITS.readLineCharacters} characters are cut.`,
      input,
      kind: "read",
      title: ({ path }) => `Read ${shownPath(path)}`,
      needs: ({ path }) => [{ type: "read", path: neededPath(path) }],
      rerun: "safe",
      execute: (call, { workspace, signal }) => readForModel({ lineNumbers, ...call }, workspace, signal),
    }),
  );
}

/** `offset` is the first line, counted from 1. */
export type PartOfFile = {
  readonly path: string;
  readonly offset?: number | undefined;
  readonly limit?: number | undefined;
  readonly lineNumbers?: boolean | undefined;
};

/** A file as a model is shown it. What it can put right is an error result. */
export function readForModel(
  { path, offset = 1, limit = TOOL_LIMITS.readLines, lineNumbers = true }: PartOfFile,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<ToolOutput> {
  return answering(async () => {
    const first = await workspace.read(path, { maxBytes: FIRST_BYTES, truncate: true, exact: true, signal });
    const kind = mediaKind(first.bytes);
    const maxBytes = kind?.maxBytes ?? TOOL_LIMITS.fileBytes;
    const { bytes } = await workspace.read(path, { maxBytes, exact: true, signal });
    if (kind !== undefined) return mediaOutput(kind, bytes, path);
    const { lines, all } = linesFrom(withoutMark(decodeText(bytes, path)), offset, limit);
    return page(lines, { all, path, offset, numbered: lineNumbers });
  });
}

type Page = { readonly path: string; readonly all: number; readonly offset: number; readonly numbered: boolean };

function page(lines: readonly string[], { path, all, offset, numbered }: Page): ToolOutput {
  if (all === 0) return { content: [text(`${shownPath(path)} is empty.`)] };
  if (offset > all) {
    return failure(`${shownPath(path)} has ${count(all, "line")}: offset ${offset} is beyond its end.`);
  }
  const shown: string[] = [];
  let characters = 0;
  let cut = false;
  for (const line of lines) {
    const number = offset + shown.length;
    const body = shortened(line);
    const row = numbered ? `${String(number).padStart(6)}\t${body}` : body;
    if (characters + row.length > TOOL_LIMITS.readCharacters) break;
    cut ||= body !== line;
    characters += row.length + 1;
    shown.push(row);
  }
  const last = offset - 1 + shown.length;
  if (last < all) {
    shown.push(`(lines ${offset} to ${last} of ${all}; go on with offset ${last + 1})`);
  }
  const truncated = cut || last < all;
  return { content: [text(shown.join("\n"))], ...(truncated && { truncated }) };
}

function shortened(line: string): string {
  if (line.length <= TOOL_LIMITS.readLineCharacters) return line;
  const start = cutAt(line, TOOL_LIMITS.readLineCharacters);
  return `${start} [... ${count(line.length - start.length, "more character")}]`;
}
