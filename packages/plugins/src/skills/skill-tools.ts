/** The tools of skills: `skill` makes one active, `skill_read` reads a file of it, `skill_run` runs a script of it. */

import { join } from "node:path";
import {
  builtIn,
  CapstanError,
  jsonSchema,
  text,
  textOutput,
  tool,
  type Tool,
  type ToolContext,
  type ToolOutput,
} from "@capstan/core";
import { isPlainName, readText } from "../definition-folder.ts";
import { plainLine } from "../plain-line.ts";
import { scriptsOf, type Skill } from "./skill.ts";

export const USE_TOOL = "skill";
export const READ_TOOL = "skill_read";
export const RUN_TOOL = "skill_run";
export const SKILL_TOOLS: ReadonlySet<string> = new Set([USE_TOOL, READ_TOOL, RUN_TOOL]);

export type UseInput = { readonly name: string };
export type ReadInput = { readonly name: string; readonly path: string; readonly offset?: number };
export type RunInput = { readonly name: string; readonly script: string; readonly args?: readonly string[] };

const MAX_FILE_BYTES = 4_194_304;
const READ_CHARACTERS = 32_000;
const OUTPUT_BYTES = 65_536;
const MAX_ARGS = 64;
const MAX_ARG = 8_192;
/** Longer than the script's own time, which comes first. */
const GRACE_MS = 10_000;
/** What starts a script, by the end of its name; any other is started itself. */
const INTERPRETERS: { readonly [end: string]: readonly string[] } = {
  ".sh": ["bash", "--noprofile", "--norc"],
  ".bash": ["bash", "--noprofile", "--norc"],
  ".py": ["python3"],
  ".js": ["node"],
  ".mjs": ["node"],
  ".cjs": ["node"],
  ".ts": ["node"],
  ".rb": ["ruby"],
  ".pl": ["perl"],
};
const name = { type: "string", description: "Of an active skill." } as const;

/** No more than the skills have a use for: each is sent with every request. */
export function skillTools(skills: readonly Skill[], catalog: string, scriptTimeoutMs: number): readonly Tool[] {
  if (skills.length === 0) return [];
  const find = (wanted: string): Skill | undefined => skills.find((skill) => skill.name === wanted);
  const hasScripts = skills.some((skill) => scriptsOf(skill).length > 0);
  const hasFiles = skills.some((skill) => skill.resources.length > 0);
  return [
    ...(catalog === "" ? [] : [useTool(catalog)]),
    ...(hasFiles ? [readTool(find)] : []),
    ...(hasScripts ? [runTool(find, scriptTimeoutMs)] : []),
  ];
}

type Find = (name: string) => Skill | undefined;

function useTool(catalog: string): Tool {
  return tool<UseInput>({
    name: USE_TOOL,
    description:
      "Makes a skill active and returns its instructions. Call it before anything else when the task is one that a skill is for.\n" +
      `Skills:\n${catalog}`,
    input: jsonSchema<UseInput>({
      type: "object",
      properties: { name: { type: "string", maxLength: 64 } },
      required: ["name"],
      additionalProperties: false,
    }),
    kind: "think",
    permission: "allow",
    needs: () => [],
    rerun: "keyed", // in the order of the calls: what it limits counts for the next one of the same turn
    title: (input) => `Skill ${plainLine(input.name, 64)}`,
    execute: () => "", // the plugin's hook answers with the instructions
  });
}

function readTool(find: Find): Tool {
  return tool<ReadInput>({
    name: READ_TOOL,
    description: `Reads a text file of a skill, at most ${READ_CHARACTERS} characters at once: go on with offset.`,
    input: jsonSchema<ReadInput>({
      type: "object",
      properties: {
        name,
        path: { type: "string", maxLength: 1_024, description: "As the skill names it." },
        offset: { type: "integer", minimum: 0, description: "Characters to leave out at the start." },
      },
      required: ["name", "path"],
      additionalProperties: false,
    }),
    kind: "read",
    permission: "allow", // a file of a skill that is trusted, and nothing else
    needs: () => [],
    rerun: "safe",
    title: (input) => `Read ${plainLine(input.path, 200)} of skill ${plainLine(input.name, 64)}`,
    execute: (input) => answering(() => readPart(find(input.name), input)),
  });
}

async function readPart(skill: Skill | undefined, { path, offset = 0 }: ReadInput): Promise<ToolOutput> {
  const clean = path.replace(/^\.\//, "");
  if (skill?.folder === undefined || !skill.resources.includes(clean)) return failure(unknownFile(skill, path));
  const whole = await readText(skill.folder, clean, MAX_FILE_BYTES);
  if (whole === undefined) return failure(`${path} is no text, or may not be read now.`);
  if (offset > 0 && offset >= whole.length) return failure(`${path} has ${whole.length} characters.`);
  const part = whole.slice(offset, offset + READ_CHARACTERS).toWellFormed();
  const end = offset + part.length;
  const more =
    end < whole.length ? `\n(characters ${offset} to ${end} of ${whole.length}; go on with offset ${end})` : "";
  return { content: [text(part + more)], ...(more !== "" && { truncated: true }) };
}

function runTool(find: Find, timeoutMs: number): Tool {
  return builtIn(
    tool<RunInput>({
      name: RUN_TOOL,
      description: "Runs a script of a skill in the workspace and returns its output.",
      input: jsonSchema<RunInput>({
        type: "object",
        properties: {
          name,
          script: { type: "string", maxLength: 1_024, description: "As the skill names it, such as scripts/check.sh." },
          args: { type: "array", maxItems: MAX_ARGS, items: { type: "string", maxLength: MAX_ARG } },
        },
        required: ["name", "script"],
        additionalProperties: false,
      }),
      kind: "execute",
      rerun: "never",
      timeoutMs: timeoutMs + GRACE_MS,
      title: ({ script, args = [] }) => `Run ${plainLine([script, ...args].join(" "), 200)}`,
      needs: ({ name: of, script, args = [] }) => {
        const path = pathOf(find(of), script) ?? script;
        return [{ type: "execute", command: [path, ...args].join(" "), words: [path, ...args] }];
      },
      execute: (input, context) => answering(() => runScript(find(input.name), input, context, timeoutMs)),
    }),
  );
}

/** Absolute; undefined for what is no script of the skill. */
function pathOf(skill: Skill | undefined, script: string): string | undefined {
  const clean = script.replace(/^\.\//, "");
  if (skill?.folder === undefined || !isPlainName(clean) || !scriptsOf(skill).includes(clean)) return undefined;
  return join(skill.folder.path, clean);
}

async function runScript(
  skill: Skill | undefined,
  { script, args = [] }: RunInput,
  { workspace, signal, progress }: ToolContext,
  timeoutMs: number,
): Promise<ToolOutput> {
  const path = pathOf(skill, script);
  if (skill?.folder === undefined || path === undefined) return failure(unknownFile(skill, script));
  // what was trusted is what is run: its bytes are looked at again
  if ((await skill.folder.read(script.replace(/^\.\//, ""), MAX_FILE_BYTES)) === undefined)
    return failure(`${script} may not be run: it is gone, leads elsewhere, or was changed since it was trusted.`);
  if (args.some((one) => one.includes("\0"))) return failure("An argument contains a NUL character. Send it without.");
  const end = /\.[a-z]+$/.exec(script)?.[0] ?? "";
  const start = Object.hasOwn(INTERPRETERS, end) ? (INTERPRETERS[end] ?? []) : [];
  const outcome = await workspace.run([...start, path, ...args], {
    env: { SKILL_DIR: skill.folder.path },
    timeoutMs,
    maxOutputBytes: OUTPUT_BYTES,
    signal,
    onOutput: (stream, chunk) => progress({ stream, chunk }),
  });
  const { exitCode, killedBy, exitSignal, stdout, stderr, truncated } = outcome;
  const how =
    killedBy === "timeout"
      ? `[ended after ${timeoutMs} ms with all that it started]`
      : exitSignal !== null
        ? `[ended by ${exitSignal}]`
        : exitCode === 0
          ? ""
          : `[exit code ${exitCode}]`;
  const shown = [stdout, stderr, how].map((piece) => piece.trimEnd()).filter((piece) => piece !== "");
  const failed = exitCode !== 0 || killedBy !== null;
  return {
    content: [text(shown.join("\n") || "(no output)")],
    ...(failed && { isError: true }),
    ...(truncated && { truncated: true }),
  };
}

function unknownFile(skill: Skill | undefined, path: string): string {
  if (skill === undefined) return "There is no such skill.";
  return `The skill ${skill.name} has no file ${plainLine(path, 200)}. It has: ${skill.resources.slice(0, 50).join(", ") || "none"}.`;
}

async function answering(work: () => Promise<ToolOutput>): Promise<ToolOutput> {
  try {
    return await work();
  } catch (error) {
    if (
      CapstanError.is(error, "file-too-large") ||
      CapstanError.is(error, "process-failed") ||
      CapstanError.is(error, "workspace-missing")
    )
      return failure(`${error.message}.`);
    throw error;
  }
}

function failure(message: string): ToolOutput {
  return textOutput(message, { isError: true });
}
