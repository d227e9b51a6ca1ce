/** Where names lead now, links in them followed as far as something is there. */

import { lstatSync, readlinkSync } from "node:fs";
import { systemCode } from "./paths.ts";

/** As many as Linux follows. */
const MAX_LINKS = 40;

/**
 * Names relative to the root, or absolute. What is missing is taken as it is written: a link to nothing leads to where a
 * file would be made. Undefined for circles of links and what the system does not let us see.
 */
export function realPathsIn(root: string, paths: readonly string[]): readonly (string | undefined)[] {
  const seen = new Map<string, string | null | undefined>();
  return paths.map((path) => realPath(path.startsWith("/") ? path : `${root}/${path}`, seen));
}

/** `seen`: of paths without links before their last name, the target of a link, null for what is none, undefined: cannot be told. */
function realPath(path: string, seen: Map<string, string | null | undefined>): string | undefined {
  if (path.includes("\0")) return undefined;
  const names = path.split("/").toReversed();
  const found: string[] = [];
  for (let links = 0; names.length > 0;) {
    const name = names.pop() ?? "";
    if (name === "" || name === ".") continue;
    if (name === "..") {
      found.pop();
      continue;
    }
    const at = `/${[...found, name].join("/")}`;
    if (!seen.has(at)) seen.set(at, linkAt(at));
    const target = seen.get(at);
    if (target === undefined) return undefined;
    if (target === null) {
      found.push(name);
      continue;
    }
    if (++links > MAX_LINKS) return undefined;
    if (target.startsWith("/")) found.length = 0;
    names.push(...target.split("/").toReversed());
  }
  return `/${found.join("/")}`;
}

function linkAt(path: string): string | null | undefined {
  try {
    const info = lstatSync(path, { throwIfNoEntry: false });
    return info?.isSymbolicLink() === true ? readlinkSync(path) : null;
  } catch (error) {
    return systemCode(error) === "ENOTDIR" ? null : undefined;
  }
}
