/** What other programs' settings call our tools and their arguments, so that a guard written for those still guards. */

import type { Json } from "@capstan/core";

/** `fields`: ours to theirs. */
type Foreign = { readonly name: string; readonly fields?: { readonly [ours: string]: string } };

const PATH = { path: "file_path" };
const FOREIGN: { readonly [tool: string]: Foreign } = {
  shell: { name: "Bash" },
  read_file: { name: "Read", fields: PATH },
  write_file: { name: "Write", fields: PATH },
  edit: { name: "Edit", fields: PATH },
  multi_edit: { name: "MultiEdit", fields: PATH },
  list: { name: "LS" },
  glob: { name: "Glob" },
  grep: { name: "Grep" },
  ask_user: { name: "AskUserQuestion" },
  todo_write: { name: "TodoWrite" },
};

/** How a command is told of a call: by our name, or by the foreign one when only that is what its matcher names. */
export type SpokenTool = { readonly name: string; toTheirs(input: Json): Json; toOurs(input: Json): Json };

/** Nothing when the matcher means another tool. */
export function spokenTool(matcher: RegExp | undefined, tool: string): SpokenTool | undefined {
  if (matcher === undefined || matcher.test(tool)) return { name: tool, toTheirs: same, toOurs: same };
  const foreign = Object.hasOwn(FOREIGN, tool) ? FOREIGN[tool] : undefined;
  if (foreign === undefined || !matcher.test(foreign.name)) return undefined;
  const fields = Object.entries(foreign.fields ?? {});
  const back = fields.map(([ours, theirs]) => [theirs, ours] as const);
  return { name: foreign.name, toTheirs: (input) => renamed(input, fields), toOurs: (input) => renamed(input, back) };
}

function same(input: Json): Json {
  return input;
}

function renamed(input: Json, names: readonly (readonly [string, string])[]): Json {
  if (names.length === 0 || typeof input !== "object" || input === null || Array.isArray(input)) return input;
  const to = new Map(names);
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [to.get(name) ?? name, value as Json]));
}
