/** The tool `write_file`: creates a file or replaces it whole. */

import {
  builtIn,
  CapstanError,
  sha256,
  text,
  tool,
  type FileContent,
  type Probe,
  type Tool,
  type Workspace,
} from "@capstan/core";
import { z } from "zod";
import { answering, count, failure, neededPath, shownPath } from "../tool-answer.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";
import { linesOf } from "./file-text.ts";
import { textDiff } from "./text-diff.ts";

const input = z.object({
  path: z.string().describe("Relative to the workspace. Missing folders are made."),
  content: z.string(),
});

export const writeFileTool: Tool = builtIn(
  tool({
    name: "write_file",
    description: "Creates a text file or replaces its whole content. To change a part, use edit.",
    input,
    kind: "edit",
    title: ({ path }) => `Write ${shownPath(path)}`,
    needs: ({ path }) => [{ type: "write", path: neededPath(path) }],
    rerun: "never",
    interruptible: false,
    execute: ({ path, content }, { workspace }) =>
      answering(async () => {
        const bytes = new TextEncoder().encode(content);
        const problem = contentProblem(content, bytes.length);
        if (problem !== undefined) return failure(problem);
        const current = await present(workspace, path);
        if (current?.hash === sha256(bytes)) {
          return { content: [text(`${shownPath(path)} has this content already. Nothing was written.`)] };
        }
        // what the answer shows as replaced is what was replaced: a file beyond the bound is the exception
        const isWhole = current === undefined || current.size === current.bytes.length;
        const expected = current?.hash ?? null;
        const written = await workspace.write(path, bytes, { exact: true, ...(isWhole && { expected }) });
        const size = `${count(linesOf(content).length, "line")}, ${count(bytes.length, "byte")}`;
        const before = current === undefined ? undefined : asText(current.bytes);
        return {
          content: [
            text(`${current === undefined ? "Created" : "Replaced"} ${shownPath(written.path)} (${size}).`),
            textDiff(written.path, before, content),
          ],
        };
      }),
    probe: ({ path, content }, { workspace }) => probeWrite(workspace, path, content),
  }),
);

/**
 * Equal bytes: it happened. No file: it did not. Other bytes may be from before the write or from somebody after it:
 * writing again could destroy the latter, so that is for a person to say.
 */
async function probeWrite(workspace: Workspace, path: string, content: string): Promise<Probe> {
  try {
    const file = await workspace.read(path, { maxBytes: TOOL_LIMITS.fileBytes, exact: true });
    return file.hash === sha256(new TextEncoder().encode(content)) ? "happened" : "unknown";
  } catch (error) {
    return CapstanError.is(error, "path-not-found") ? "did-not" : "unknown";
  }
}

function contentProblem(content: string, bytes: number): string | undefined {
  if (!content.isWellFormed()) return "The content contains half of a character (a lone surrogate). Send it without.";
  if (bytes <= TOOL_LIMITS.fileBytes) return undefined;
  return `The content has ${count(bytes, "byte")}; at most ${TOOL_LIMITS.fileBytes.toLocaleString("en-US")} are written.`;
}

/** What stands there now; a larger or missing file counts as none to compare with. */
async function present(workspace: Workspace, path: string): Promise<FileContent | undefined> {
  try {
    return await workspace.read(path, { maxBytes: TOOL_LIMITS.fileBytes, truncate: true, exact: true });
  } catch (error) {
    if (CapstanError.is(error, "path-not-found")) return undefined;
    throw error;
  }
}

function asText(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}
