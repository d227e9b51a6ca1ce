/** Needs of commands by the real paths of the files they name, as links lead at the time they are judged. */

import type { ExecuteNeed, Need, Workspace } from "../ports/workspace.ts";
import { writtenNames } from "./written-names.ts";

/** Resolves names from the root; undefined where it cannot be told. */
type RealPaths = NonNullable<Workspace["realPaths"]>;

/**
 * What links lead to is a need beside the name it was reached by: rules must cover both. A path that cannot be told is
 * uncertain. A need of a program that writes gets the paths its words lead to.
 */
export async function withRealPaths(
  needs: readonly Need[],
  root: string,
  realPaths: RealPaths,
): Promise<readonly Need[]> {
  const names = needs.map((need) => namesOf(need));
  if (names.every((list) => list.length === 0)) return needs;
  const found = await realPaths(names.flat());
  let next = 0;
  return needs.flatMap((need, at) => {
    const list = names[at] ?? [];
    const real = found.slice(next, (next += list.length));
    return need.type === "execute" ? [withLeads(need, root, list, real)] : led(need, root, real);
  });
}

/** Names as the system would follow them: from the root, `..` left as it is. */
function namesOf(need: Need): readonly string[] {
  if (need.type === "read" || need.type === "write") return [need.path];
  if (need.type !== "execute") return [];
  const { folder = "", leads = [] } = need;
  const names = writtenNames(need);
  if (names === undefined) return [];
  return [...names.map((name) => (folder === "" || name.startsWith("/") ? name : `${folder}/${name}`)), ...leads];
}

function led(need: Need, root: string, [real]: readonly (string | undefined)[]): readonly Need[] {
  if (need.type !== "read" && need.type !== "write") return [need];
  if (real === undefined) return [{ ...need, uncertain: true }];
  return real === plain(need.path, root) ? [need] : [need, { type: need.type, path: real }];
}

function withLeads(
  need: ExecuteNeed,
  root: string,
  names: readonly string[],
  real: readonly (string | undefined)[],
): ExecuteNeed {
  const leads = real.filter((path, at) => path !== undefined && path !== plain(names[at] ?? "", root));
  if (leads.length === 0) return need;
  return { ...need, leads: [...(need.leads ?? []), ...leads.filter((path) => path !== undefined)] };
}

/** The name as an absolute path, were there no links. */
function plain(name: string, root: string): string {
  const names: string[] = [];
  for (const part of (name.startsWith("/") ? name : `${root}/${name}`).split("/")) {
    if (part === "..") names.pop();
    else if (part !== "" && part !== ".") names.push(part);
  }
  return `/${names.join("/")}`;
}
