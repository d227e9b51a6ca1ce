/** Refuses edits and writes whose new text leaves code out behind a remark such as "... rest of the code unchanged". */

import {
  CapstanError,
  type HookContext,
  type HookedCall,
  isArray,
  type Json,
  type Plugin,
  plugin,
} from "@capstan/core";
import { isBegun, pathsOf } from "../call-files.ts";
import { placeholdersIn } from "./placeholder.ts";

/** Arguments of these names hold what stands there now: `old_string`, `oldText`, `old_str`. */
const OLD = /^old/i;
/** Arguments of these names are no text of the file. */
const NO_TEXT = /^(?:path|file_?path|description|title|reason)$/i;
const SHOWN = 3;

/**
 * Looks at every text among the arguments of tools of kind `edit`. A remark that stood in what is replaced may stay: in the
 * old text that the call gives, or in the file where it gives none.
 */
export function omissionGuard(): Plugin {
  return plugin({
    name: "omission-guard",
    async tool(call, context, next) {
      if (call.tool.kind !== "edit" || isBegun(context.state, call.callId)) return next(call);
      const { old, fresh } = textsOf(call.input);
      const found = fresh.flatMap(placeholdersIn);
      if (found.length === 0) return next(call);
      const before = old.length > 0 ? old : await filesOf(call, context);
      const stood = new Set(before.flatMap(placeholdersIn));
      const missing = [...new Set(found.filter((line) => !stood.has(line)))];
      return missing.length === 0 ? next(call) : context.answer(refusalOf(missing), { isError: true });
    },
  });
}

function refusalOf(missing: readonly string[]): string {
  const lines = missing.slice(0, SHOWN).map((line) => JSON.stringify(line));
  const more = missing.length > SHOWN ? " and more" : "";
  return (
    `Not done: the new text stands in for code with ${lines.join(", ")}${more}. What you give is written as it is, and the ` +
    "code behind that remark would be lost. Give the whole text, or edit only the part that changes."
  );
}

type Texts = { readonly old: readonly string[]; readonly fresh: readonly string[] };

/** Every text of the arguments, at any depth. */
function textsOf(input: Json): Texts {
  const old: string[] = [];
  const fresh: string[] = [];
  const walk = (value: Json, name: string): void => {
    if (typeof value === "string") {
      if (OLD.test(name)) old.push(value);
      else if (!NO_TEXT.test(name)) fresh.push(value);
    } else if (value !== null && typeof value === "object") {
      if (isArray(value)) for (const item of value) walk(item, name);
      else for (const [member, inner] of Object.entries(value)) walk(inner, member);
    }
  };
  walk(input, "");
  return { old, fresh };
}

/** What the files hold that the call would write; what cannot be read holds nothing. */
async function filesOf(call: HookedCall, context: HookContext): Promise<readonly string[]> {
  if (context.state.workspace === undefined) return [];
  const workspace = await context.workspace();
  const texts: string[] = [];
  for (const path of await pathsOf(call, "write")) {
    try {
      const { bytes } = await workspace.read(path, { signal: context.signal });
      texts.push(new TextDecoder().decode(bytes));
    } catch (error) {
      context.signal.throwIfAborted();
      if (!CapstanError.is(error)) throw error;
    }
  }
  return texts;
}
