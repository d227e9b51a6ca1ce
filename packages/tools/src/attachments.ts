/** Files named by a tag in an input, `<attachment>src/a.ts</attachment>`, read for the model through the session's workspace. */

import {
  callFacts,
  CapstanError,
  type Definitions,
  type HookContext,
  type InputContext,
  type Message,
  type Part,
  type Plugin,
  plugin,
  policyOf,
  type SessionState,
  text,
  type ToolOutput,
  verdictIn,
  type Workspace,
} from "@capstan/core";
import { listForModel } from "./files/list-folder.ts";
import { readFileTool, readForModel } from "./files/read-file.ts";
import { neededPath, shownPath } from "./tool-answer.ts";

export type AttachmentsOptions = {
  /** Name of the tag: a letter, then letters, digits, `-` and `_`. Default `attachment`. */
  readonly tag?: string;
};

/** Attachments of one input; those after them are told, and not read. */
const MAX_ATTACHMENTS = 32;
/** Text of all attachments of one input together, in UTF-16 units. */
const MAX_CHARACTERS = 400_000;
/** Images and PDFs of one input together, as base64. */
const MAX_MEDIA_CHARACTERS = 33_554_432;
const MAX_PATH = 4_096;
const HOOK_TIMEOUT_MS = 30_000;

/**
 * The text stays as it is, tags and all; behind it stands a part for each tag, in their order: lines of a text, an image or
 * PDF, the entries of a folder, or why there is nothing. A file that is named again is not read again. What a rule would
 * ask about or deny is not read. Throws `plugin-invalid` for a tag that is none.
 */
export function attachments({ tag = "attachment" }: AttachmentsOptions = {}): Plugin {
  if (!/^[A-Za-z][\w-]{0,63}$/.test(tag))
    throw new CapstanError("plugin-invalid", `attachments: ${JSON.stringify(tag)} is no name for a tag`);
  const pattern = new RegExp(`<${tag}>([^<>\\n]{1,${MAX_PATH}})</${tag}>`, "g");
  const runtimes = new Set<Definitions>();
  return plugin({
    name: "attachments",
    timeoutMs: HOOK_TIMEOUT_MS,
    open(runtime) {
      runtimes.add(runtime);
      return { [Symbol.asyncDispose]: async () => void runtimes.delete(runtime) };
    },
    async input(message, context, next) {
      const paths = message.parts.flatMap((part) =>
        part.type === "text" ? Array.from(part.text.matchAll(pattern), ([, path = ""]) => path.trim()) : [],
      );
      return next(paths.length === 0 ? message : await withFiles(message, paths, context, runtimes));
    },
  });
}

async function withFiles(
  message: Message,
  paths: readonly string[],
  context: InputContext<undefined>,
  runtimes: ReadonlySet<Definitions>,
): Promise<Message> {
  const place = await placeOf(context);
  const parts: Part[] = [];
  const seen = new Set<string>();
  let left = MAX_CHARACTERS;
  let media = MAX_MEDIA_CHARACTERS;
  for (const [index, path] of paths.entries()) {
    if (index === MAX_ATTACHMENTS) {
      parts.push(
        text(
          `<error>${paths.length - index} further attachments were not read: at most ${MAX_ATTACHMENTS} are.</error>`,
        ),
      );
      break;
    }
    const shown = inTag(shownPath(path));
    const output = typeof place === "string" ? place : await readOne(path, place, { seen, context, runtimes });
    if (typeof output === "string") {
      parts.push(text(`<error path="${shown}">${inTag(output)}</error>`));
      continue;
    }
    for (const part of output.content) {
      if (part.type === "file" && part.data.type === "base64") {
        media -= part.data.base64.length;
        if (media >= 0) parts.push(part);
        else
          parts.push(
            text(`<error path="${shown}">It is not shown: the images and PDFs are too large together.</error>`),
          );
      }
      if (part.type !== "text") continue;
      const kept = part.text
        .slice(0, left)
        .toWellFormed()
        .replaceAll(/<(?=\/file>)/gi, "&lt;"); // it cannot end its block
      left -= kept.length;
      const cut = kept.length < part.text.length ? "\n(cut: the attachments are too long together)" : "";
      parts.push(text(`<file path="${shown}">\n${kept}${cut}\n</file>`));
    }
  }
  return { ...message, parts: [...message.parts, ...parts] };
}

type Reading = {
  readonly seen: Set<string>;
  readonly context: HookContext<undefined>;
  readonly runtimes: ReadonlySet<Definitions>;
};

/** A text says why there is nothing to show. */
async function readOne(
  path: string,
  workspace: Workspace,
  { seen, context, runtimes }: Reading,
): Promise<ToolOutput | string> {
  const { signal, state } = context;
  const refused = refusedBy(path, workspace.root, state, runtimes);
  if (refused !== undefined) return refused;
  try {
    const absolute = workspace.resolve(path);
    if (seen.has(absolute)) return { content: [text(`${shownPath(path)} was attached already, above.`)] };
    const { type } = await workspace.stat(path);
    const output =
      type === "folder" ? await listForModel(path, workspace, signal) : await readForModel({ path }, workspace, signal);
    if (output.isError === true) return output.content.map((part) => (part.type === "text" ? part.text : "")).join("");
    seen.add(absolute);
    return output;
  } catch (error) {
    if (!CapstanError.is(error)) throw error;
    signal.throwIfAborted();
    return error.message;
  }
}

/** Why rules keep the file from being read without a question: nobody is asked for an attachment. */
function refusedBy(
  path: string,
  root: string,
  state: SessionState,
  runtimes: ReadonlySet<Definitions>,
): string | undefined {
  const call = { ...callFacts(readFileTool(), { path: neededPath(path) }, root) };
  for (const runtime of runtimes) {
    const permission = runtime.find(state.agent)?.permission ?? {};
    const { verdict, reason } = verdictIn(state, call, policyOf(state, permission, runtime.permission));
    if (verdict !== "allow") return `It may not be attached: ${reason}`;
  }
  return undefined;
}

async function placeOf(context: HookContext<undefined>): Promise<Workspace | string> {
  if (context.state.workspace === undefined) return "This session has no folder.";
  try {
    return await context.workspace();
  } catch (error) {
    if (!CapstanError.is(error)) throw error;
    return error.message;
  }
}

/** What stands in the tag or its quotes cannot end it. */
function inTag(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
