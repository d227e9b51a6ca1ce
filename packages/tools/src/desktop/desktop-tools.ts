/** @capstan/tools/desktop: the user's own desktop as tools. Each asks unless a rule allows it. */

import { builtIn, text, textOutput, tool, type Tool, type ToolOutput } from "@capstan/core";
import { z } from "zod";
import { FIRST_BYTES, mediaKind, mediaOutput } from "../files/media.ts";
import { answering, count, cutAt, failure, neededPath, shownPath } from "../tool-answer.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";
import { inertText } from "../web/page-text.ts";
import { DESKTOP_LIMITS as LIMITS } from "./limits.ts";
import { fileTarget, webTarget } from "./open-target.ts";
import { DesktopFailure, desktopRunner, type RunDesktop } from "./run-desktop.ts";

export { DESKTOP_LIMITS } from "./limits.ts";

/** `get_system_info`, `open_in_default_app`, `read_clipboard`, `write_clipboard`, `capture_screenshot`, `analyze_image`. */
export function desktopTools(): Tool[] {
  return desktopToolsOf(desktopRunner());
}

/** The same over another desktop, for tests. */
export function desktopToolsOf(run: RunDesktop): Tool[] {
  return [
    systemInfoTool(run),
    openTool(run),
    readClipboardTool(run),
    writeClipboardTool(run),
    screenshotTool(run),
    analyzeImageTool(),
  ].map(builtIn);
}

/** What went wrong on the desktop is for the model to read. */
async function orSay(what: string, work: () => Promise<ToolOutput>): Promise<ToolOutput> {
  try {
    return await answering(work);
  } catch (error) {
    if (error instanceof DesktopFailure) return failure(`${what}: ${cutAt(inertText(error.message), 500)}.`);
    throw error;
  }
}

function systemInfoTool(run: RunDesktop): Tool {
  return tool({
    name: "get_system_info",
    description: "Tells the operating system, processor, memory, disks and screens of the user's machine.",
    input: z.object({}),
    kind: "read",
    title: () => "Look at the system",
    permission: "ask",
    rerun: "safe",
    execute: (_input, { signal }) =>
      orSay("The system could not be looked at", async () => {
        const { text: said = "" } = await run({ type: "system-info" }, signal);
        return textOutput(inertText(said));
      }),
  });
}

function openTool(run: RunDesktop): Tool {
  return tool({
    name: "open_in_default_app",
    description:
      "Opens a file or folder of the workspace, or a web page, on the user's desktop with the program that is usual for it.",
    input: z.object({ target: z.string().min(1).max(TOOL_LIMITS.pathCharacters).describe("A path, or https://...") }),
    kind: "other",
    title: ({ target }) => `Open ${shownPath(cutAt(target, 200))}`,
    permission: "ask",
    needs: ({ target }) => [{ type: "other", what: target }],
    rerun: "never",
    execute: ({ target }, context) =>
      orSay(`${shownPath(cutAt(target, 200))} could not be opened`, async () => {
        const what = webTarget(target) ?? (await fileTarget(context.workspace, target));
        await run({ type: "open", target: what }, context.signal);
        return textOutput(`Opened ${shownPath(cutAt(target, 200))}.`);
      }),
  });
}

function readClipboardTool(run: RunDesktop): Tool {
  return tool({
    name: "read_clipboard",
    description: "Reads the text on the user's clipboard.",
    input: z.object({}),
    kind: "read",
    title: () => "Read the clipboard",
    permission: "ask",
    rerun: "safe",
    execute: (_input, { signal }) =>
      orSay("The clipboard could not be read", async () => {
        const { text: read = "" } = await run({ type: "read-clipboard" }, signal);
        if (read === "") return textOutput("The clipboard holds no text.");
        const shown = cutAt(read, LIMITS.shownCharacters).toWellFormed();
        const left = read.length - shown.length;
        if (left <= 0) return textOutput(shown);
        return { content: [text(`${shown}\n[${count(left, "more character")}]`)], truncated: true };
      }),
  });
}

function writeClipboardTool(run: RunDesktop): Tool {
  return tool({
    name: "write_clipboard",
    description: "Puts a text on the user's clipboard, in place of what is there.",
    input: z.object({ text: z.string().min(1).max(LIMITS.writtenCharacters) }),
    kind: "other",
    title: ({ text: written }) => `Put ${count(written.length, "character")} on the clipboard`,
    permission: "ask",
    rerun: "safe", // the same text again changes nothing
    execute: ({ text: written }, { signal }) =>
      orSay("The clipboard could not be written", async () => {
        await run({ type: "write-clipboard", text: written }, signal);
        return textOutput(`${count(written.length, "character")} are on the clipboard.`);
      }),
  });
}

function screenshotTool(run: RunDesktop): Tool {
  return tool({
    name: "capture_screenshot",
    description: "Shows the user's main screen as it is now.",
    input: z.object({}),
    kind: "read",
    title: () => "Take a screenshot",
    permission: "ask",
    rerun: "safe",
    execute: (_input, { signal }) =>
      orSay("No screenshot could be taken", async () => {
        const { base64 = "" } = await run({ type: "screenshot" }, signal);
        return imageOutput(Buffer.from(base64, "base64"), "screenshot.png");
      }),
  });
}

function analyzeImageTool(): Tool {
  return tool({
    name: "analyze_image",
    description: "Shows an image of the workspace (PNG, JPEG, GIF, WebP), to answer a question about it.",
    input: z.object({
      path: z.string().describe("Relative to the workspace."),
      question: z.string().max(2_000).optional().describe("What to look for."),
    }),
    kind: "read",
    title: ({ path }) => `Look at ${shownPath(path)}`,
    needs: ({ path }) => [{ type: "read", path: neededPath(path) }],
    rerun: "safe",
    execute: ({ path, question }, { workspace, signal }) =>
      answering(async () => {
        const { bytes } = await workspace.read(path, { maxBytes: TOOL_LIMITS.imageBytes, exact: true, signal });
        const shown = imageOutput(Buffer.from(bytes), path);
        if (question === undefined || shown.isError === true) return shown;
        return { ...shown, content: [...shown.content, text(`To be answered from the image: ${question}`)] };
      }),
  });
}

function imageOutput(bytes: Buffer, name: string): ToolOutput {
  const kind = mediaKind(bytes.subarray(0, FIRST_BYTES));
  if (kind === undefined || !kind.mediaType.startsWith("image/"))
    return failure(`${shownPath(name)} is no PNG, JPEG, GIF or WebP image.`);
  if (bytes.length > kind.maxBytes)
    return failure(
      `${shownPath(name)} has ${count(bytes.length, "byte")}; at most ${count(kind.maxBytes, "byte")} are shown.`,
    );
  return mediaOutput(kind, bytes, name);
}
