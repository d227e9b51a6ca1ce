/** The YAML head of a Markdown file, read leniently: what people write is often not quite YAML. */

import { messageOf } from "@capstan/core";

export type FrontMatter = {
  /** Undefined when the file has no head. */
  readonly fields: ReadonlyMap<string, unknown> | undefined;
  readonly body: string;
  /** Why the head was read line by line, or not at all. */
  readonly problem?: string;
};

const MAX_HEAD = 32_768;
const MAX_ALIASES = 16;
const MARK = /^\ufeff?---[ \t]*\n/;

/** Never throws. Line ends are `\n`. The library for YAML is loaded with the first head. */
export async function frontMatter(text: string): Promise<FrontMatter> {
  const start = MARK.exec(text);
  const plain = { fields: undefined, body: text.replace(/^\ufeff/, "") };
  if (start === null) return plain;
  const rest = text.slice(start[0].length);
  const end = /^---[ \t]*$/m.exec(rest);
  if (end === null) return { ...plain, problem: "its head has no end: write --- on a line of its own" };
  const body = rest.slice(end.index + end[0].length).replace(/^\n+/, "");
  const head = rest.slice(0, end.index);
  if (head.length > MAX_HEAD)
    return { fields: new Map(), body, problem: `its head has more than ${MAX_HEAD} characters` };
  return { body, ...(await fieldsOf(head)) };
}

async function fieldsOf(head: string): Promise<Pick<FrontMatter, "fields" | "problem">> {
  const { parseDocument } = await import("yaml");
  let problem: string;
  try {
    const parsed = parseDocument(head, { logLevel: "silent", prettyErrors: true, uniqueKeys: false });
    const [error] = parsed.errors;
    if (error === undefined) {
      const value: unknown = parsed.toJS({ mapAsMap: true, maxAliasCount: MAX_ALIASES });
      if (value === null) return { fields: new Map() };
      if (value instanceof Map) return { fields: value as ReadonlyMap<string, unknown> }; // other keys are looked up by nobody
      problem = "its head is no list of fields";
    } else {
      problem = `its head is no YAML: ${error.message.split("\n", 1)[0] ?? ""}`;
    }
  } catch (error) {
    problem = `its head is no YAML: ${messageOf(error)}`;
  }
  return { fields: byLines(head), problem };
}

/** `name: all the rest`, as people mean it: a colon in a description is the usual mistake. */
function byLines(head: string): ReadonlyMap<string, unknown> {
  const fields = new Map<string, string>();
  for (const line of head.split("\n")) {
    const [, name, value = ""] = /^([A-Za-z][\w-]*):[ \t]*(.*)$/.exec(line) ?? [];
    if (name !== undefined) fields.set(name, value.trim().replace(/^(["'])(.*)\1$/, "$2"));
  }
  return fields;
}
