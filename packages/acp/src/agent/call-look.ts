/** What kind of call it would be and which files it names, before it runs: for whoever is asked about it. */

import type { Json, Tool, ToolKind } from "@capstan/core";
import { type AcpLocation, acpToolKind, type AcpToolKind } from "@capstan/wire/acp";

export type CallLook = {
  kindOf(name: string): ToolKind | undefined;
  /** Of input that the tool's schema has taken. */
  look(name: string, input: Json): { readonly kind?: AcpToolKind; readonly locations?: readonly AcpLocation[] };
};

/** `tools`: as far as they are known here; of others nothing is said. */
export function callLook(tools: readonly Tool[], absolute: (path: string) => string): CallLook {
  const known = new Map(tools.map((tool) => [tool.name, tool]));
  return {
    kindOf: (name) => known.get(name)?.kind,
    look(name, input) {
      const tool = known.get(name);
      if (tool === undefined) return {};
      const kind = acpToolKind(tool.kind);
      try {
        const paths = tool.needs(input).flatMap((need) => ("path" in need ? [{ path: absolute(need.path) }] : []));
        return paths.length === 0 ? { kind } : { kind, locations: paths };
      } catch {
        return { kind }; // an author's function: the files are for show
      }
    },
  };
}
