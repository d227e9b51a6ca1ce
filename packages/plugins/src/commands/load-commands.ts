/** Finds the slash commands of some folders and those of code: Markdown files, the name of each its command's name. */

import { CapstanError, messageOf } from "@capstan/core";
import { type DefinitionFolder, diskFolder, readText } from "../definition-folder.ts";
import { frontMatter } from "../front-matter.ts";
import { plainLine } from "../plain-line.ts";
import {
  BUILT_IN,
  type Command,
  COMMAND_NAME,
  COMMAND_SOURCES,
  type CommandDiagnostic,
  type CommandSource,
  type InlineCommand,
} from "./command.ts";

export type CommandFolder = {
  readonly source: CommandSource;
  /** An absolute path, or a folder that hands out only what a person trusts. */
  readonly folder: string | DefinitionFolder;
};
export type LoadCommandsOptions = {
  readonly folders?: readonly CommandFolder[];
  readonly inline?: readonly InlineCommand[];
  /** Default false: commands of the source `project` are left out, and told. */
  readonly trustProject?: boolean;
};
/** What `commands()` works with. */
export type CommandSet = {
  /** Sorted by name. */
  readonly commands: readonly Command[];
  readonly diagnostics: readonly CommandDiagnostic[];
};

const MAX_BYTES = 65_536;
const MAX_COMMANDS = 256;
const MAX_LINE = 200;
const KNOWN = new Set(["description", "argument-hint"]);

/** What is wrong with a command is a diagnostic. Throws `plugin-invalid` for one of code that has no usable name. */
export async function loadCommands({
  folders = [],
  inline = [],
  trustProject = false,
}: LoadCommandsOptions): Promise<CommandSet> {
  const diagnostics: CommandDiagnostic[] = [];
  const found: Command[] = [];
  for (const { source, folder } of folders) {
    const place =
      typeof folder === "string" ? diskFolder(folder, source === "user" ? { links: "follow" } : {}) : folder;
    const names = (await place.list()).filter((name) => /\.md$/i.test(name));
    if (source === "project" && !trustProject) {
      if (names.length > 0)
        diagnostics.push({
          code: "project-untrusted",
          command: place.path,
          message: "the commands of this folder are left out: it is not trusted",
        });
      continue;
    }
    for (const name of names) {
      const command = await commandOf(place, name, source, diagnostics);
      if (command !== undefined) found.push(command);
    }
  }
  found.push(...inline.map(inlineCommand));
  return { commands: chosen(found, diagnostics), diagnostics };
}

async function commandOf(
  folder: DefinitionFolder,
  file: string,
  source: CommandSource,
  diagnostics: CommandDiagnostic[],
): Promise<Command | undefined> {
  const say = (code: CommandDiagnostic["code"], message: string): undefined => {
    diagnostics.push({ code, command: file, message });
  };
  const name = file.replace(/\.md$/i, "").replaceAll("/", ":");
  if (!COMMAND_NAME.test(name))
    return say("name-invalid", "its name needs a letter first, then letters, digits, _ and -");
  let text: string | undefined;
  try {
    text = await readText(folder, file, MAX_BYTES);
  } catch (error) {
    if (!CapstanError.is(error)) throw error;
    return say("unreadable", messageOf(error));
  }
  if (text === undefined) return say("unreadable", "it is no text file of this folder, or may not be read");
  const { fields = new Map<string, unknown>(), body, problem } = await frontMatter(text);
  if (problem !== undefined) say("front-matter-invalid", problem);
  for (const field of fields.keys())
    if (!KNOWN.has(field)) say("field-unknown", `the field ${plainLine(String(field), 60)} has no effect here`);
  if (/(?:^|\s)!`[^`]/.test(body))
    say("shell-not-run", "commands in !`...` are not run: they stand in the text as they are");
  const [first = ""] = body.split("\n").filter((line) => line.trim() !== "");
  const hint = lineOf(fields.get("argument-hint"));
  return {
    name,
    description: lineOf(fields.get("description")) ?? plainLine(first.replace(/^#+\s*/, ""), MAX_LINE),
    source,
    action: { type: "template", text: body.trim() },
    ...(hint !== undefined && { hint }),
  };
}

function lineOf(value: unknown): string | undefined {
  if (Array.isArray(value)) return plainLine(`[${value.map(String).join(", ")}]`, MAX_LINE); // `[file]` is a list in YAML
  return typeof value === "string" || typeof value === "number" ? plainLine(String(value), MAX_LINE) : undefined;
}

function inlineCommand({ name, description = "", hint, ...rest }: InlineCommand): Command {
  if (!COMMAND_NAME.test(name) || BUILT_IN.has(name))
    throw new CapstanError(
      "plugin-invalid",
      `commands: ${JSON.stringify(name)} is no name for a command, or is built in`,
    );
  const action =
    "run" in rest ? ({ type: "run", run: rest.run } as const) : ({ type: "template", text: rest.template } as const);
  return {
    name,
    description: plainLine(description, MAX_LINE),
    source: "inline",
    action,
    ...(hint !== undefined && { hint }),
  };
}

function chosen(found: readonly Command[], diagnostics: CommandDiagnostic[]): readonly Command[] {
  const byName = new Map<string, Command>();
  for (const source of COMMAND_SOURCES) {
    for (const command of found.filter((one) => one.source === source)) {
      const { name } = command;
      const other = byName.get(name);
      if (BUILT_IN.has(name))
        diagnostics.push({
          code: "name-reserved",
          command: name,
          message: "this name is built in; the file is left out",
        });
      else if (other !== undefined)
        diagnostics.push({
          code: "name-shadowed",
          command: name,
          message: `that of the source ${other.source} is used`,
        });
      else byName.set(name, command);
    }
  }
  return [...byName.values()].toSorted((left, right) => (left.name < right.name ? -1 : 1)).slice(0, MAX_COMMANDS);
}
