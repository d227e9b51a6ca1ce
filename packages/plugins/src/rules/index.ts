/** Rules: Markdown files that the model is told with its instructions, read anew before each run. */

import { CapstanError, type HookContext, messageOf, type Plugin, plugin, sha256 } from "@capstan/core";
import { type DefinitionFolder, diskFolder, readText } from "../definition-folder.ts";
import { frontMatter } from "../front-matter.ts";
import { recorded } from "../own-facts.ts";
import { plainLine } from "../plain-line.ts";

export type RulesFolder = {
  /** For the model: whose rules these are, such as "the user" or "this folder". */
  readonly of: string;
  /** An absolute path, or a folder that hands out only what a person trusts, and throws `permission-denied` when that is no longer so. */
  readonly folder: string | DefinitionFolder;
};

const PLUGIN_NAME = "rules";
/** Of all files together: it is sent with every model call. */
const MAX_BYTES = 32_768;
const MAX_FILES = 100;

type Own = { readonly blob: string; readonly names: readonly string[] };
type Recorded = { readonly text: { readonly blob: string }; readonly names: readonly string[] };

/**
 * The files of the first folder first, those of a folder by their names. A change counts from the next run on: the cached
 * prefix is then rebuilt, with a notice. What cannot be read any more stays as it was.
 */
export function rules(folders: readonly RulesFolder[]): Plugin {
  const places = folders.map(({ of, folder }) => ({
    of,
    folder: typeof folder === "string" ? diskFolder(folder) : folder,
  }));
  const texts = new Map<string, string>();
  return plugin<Own | null>({
    name: PLUGIN_NAME,
    fold: {
      start: null,
      next: (own, fact) => {
        const data = recorded<Recorded>(fact, PLUGIN_NAME);
        return data === undefined ? own : { blob: data.text.blob, names: data.names };
      },
    },
    async prepare(_request, context) {
      const own = context.state.run?.turns === 0 ? await readAnew(places, context) : context.own;
      if (own === null) return;
      const text = texts.get(own.blob) ?? (await context.keptText(own.blob));
      texts.set(own.blob, text);
      if (texts.size > MAX_FILES) texts.delete(texts.keys().next().value ?? "");
      const breaksPrefix = own.names.length === 0 ? "there are no rules any more" : `rules: ${own.names.join(", ")}`;
      return { system: text, breaksPrefix };
    },
  });
}

type Place = { readonly of: string; readonly folder: DefinitionFolder };

async function readAnew(places: readonly Place[], context: HookContext<Own | null>): Promise<Own | null> {
  let found: Merged;
  try {
    found = await merged(places);
  } catch (error) {
    if (!CapstanError.is(error)) throw error;
    context.notice("The rules stay as they were", messageOf(error));
    return context.own;
  }
  const { own } = context;
  if (own === null ? found.names.length === 0 : sha256(new TextEncoder().encode(found.text)) === own.blob) return own;
  if (found.left.length > 0)
    context.notice(
      "Some rules are left out",
      `${found.left.join(", ")}: at most ${MAX_BYTES} bytes and ${MAX_FILES} files`,
    );
  const { hash } = await context.keepText(found.text);
  await context.record({ text: { blob: hash }, names: found.names } satisfies Recorded);
  return { blob: hash, names: found.names };
}

type Merged = { readonly text: string; readonly names: readonly string[]; readonly left: readonly string[] };

async function merged(places: readonly Place[]): Promise<Merged> {
  const parts: string[] = [];
  const names: string[] = [];
  const left: string[] = [];
  let bytes = 0;
  for (const { of, folder } of places) {
    for (const name of (await folder.list()).filter((one) => /\.md$/i.test(one))) {
      const part = await ruleText(folder, name, of);
      const size = Buffer.byteLength(part ?? "");
      if (part === undefined || names.length >= MAX_FILES || bytes + size > MAX_BYTES) {
        left.push(plainLine(name, 100));
        continue;
      }
      if (part === "") continue;
      bytes += size;
      parts.push(part);
      names.push(plainLine(name, 100));
    }
  }
  return { text: parts.join("\n\n"), names, left };
}

/** Undefined for what is too large or cannot be read; empty for an empty file. */
async function ruleText(folder: DefinitionFolder, name: string, of: string): Promise<string | undefined> {
  const text = await readText(folder, name, MAX_BYTES).catch((error: unknown) => {
    if (CapstanError.is(error, "file-too-large")) return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const { fields, body } = await frontMatter(text);
  const rule = body.trim();
  if (rule === "") return "";
  const paths: unknown = fields?.get("paths") ?? fields?.get("globs");
  const about = typeof paths === "string" ? paths : Array.isArray(paths) ? paths.map(String).join(", ") : "";
  const scope = about === "" ? "" : `, for work on ${plainLine(about, 500)}`;
  return `Rules of ${of} (${plainLine(name, 100)}${scope}):\n\n${rule}`;
}
