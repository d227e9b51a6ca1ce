/** Links that a command makes itself: where a file of a redirect lies when it is opened cannot be told before it runs. */

import type { ExecuteNeed, Need } from "@capstan/core";
import { unprovedNeed } from "./place.ts";

/** `link`: makes links by name. `move`: puts links there that are elsewhere now. `tree`: fills folders with what is not seen. */
type Maker = { readonly kind: "link" | "move" | "tree"; readonly operands: readonly string[] | undefined };

const ARCHIVES: ReadonlySet<string> = new Set("tar bsdtar gtar unzip 7z 7za cpio pax patch".split(" "));
const GIT_WRITES: ReadonlySet<string> = new Set(
  "checkout switch restore reset merge pull rebase cherry-pick revert stash apply am clone worktree submodule read-tree checkout-index".split(
    " ",
  ),
);
const MAKERS: ReadonlySet<string> = new Set([...ARCHIVES, "ln", "link", "mv", "rsync", "cp", "git"]);
/** Options with which `cp` copies links as links. */
const KEEPS_LINKS = /^-[A-Za-z]*[aPdRrs]|^--(?:archive|no-dereference|recursive|preserve|symbolic-link)/;

/** The needs with what the links of the same command make uncertain. */
export function withOwnLinks(needs: readonly Need[]): readonly Need[] {
  if (!needs.some((need) => need.type === "read" || need.type === "write")) return needs;
  const commands = needs.filter((need) => need.type === "execute");
  const makers = commands.flatMap((need) => makerOf(need) ?? []);
  if (makers.length === 0) return needs;
  const moves = commands.some(({ words }) => words?.[0] === "cd");
  const reaches = ({ operands }: Maker, path: string): boolean =>
    moves || operands === undefined || operands.some((operand) => mayHold(operand, path));
  return needs.flatMap((need): readonly Need[] => {
    if (need.type !== "read" && need.type !== "write") return [need];
    const found = makers.filter((maker) => maker.kind === "tree" || reaches(maker, need.path));
    if (found.some(({ kind }) => kind === "link")) return [{ ...need, uncertain: true }];
    return found.length > 0 && need.type === "write" ? [need, unprovedNeed(`> ${need.path}`)] : [need];
  });
}

function makerOf({ words = [] }: ExecuteNeed): Maker | undefined {
  const program = words[0] ?? "";
  const name = program.slice(program.lastIndexOf("/") + 1);
  if (!MAKERS.has(name)) return undefined;
  const rest = words.slice(1);
  switch (name) {
    case "ln":
    case "link":
      return { kind: "link", operands: operandsOf(rest) };
    case "mv":
    case "rsync":
      return { kind: "move", operands: operandsOf(rest) };
    case "cp":
      return rest.some((word) => word === null || KEEPS_LINKS.test(word))
        ? { kind: "move", operands: operandsOf(rest) }
        : undefined;
    case "git":
      return writesTree(rest) ? { kind: "tree", operands: [] } : undefined;
    default:
      return { kind: "tree", operands: [] };
  }
}

function writesTree(words: readonly (string | null)[]): boolean {
  const first = words.find((word) => word === null || !word.startsWith("-"));
  return first === null || words.some((word) => word !== null && GIT_WRITES.has(word));
}

/** Undefined: they are not all known. With one alone, its last name is made where the command stands. */
function operandsOf(words: readonly (string | null)[]): readonly string[] | undefined {
  const found: string[] = [];
  for (const word of words) {
    if (word === null) return undefined;
    found.push(word.startsWith("-") ? word.replace(/^--?[A-Za-z-]*=?/, "") : word);
  }
  const operands = found.filter((text) => text !== "");
  return operands.length === 1 ? [...operands, operands[0]?.replace(/^.*\/(?=.)/s, "") ?? ""] : operands;
}

/** Whether the path may be the operand or lie in it, as text; one from the root of the disk and one from here may be the same. */
function mayHold(operand: string, path: string): boolean {
  if (operand.startsWith("/") !== path.startsWith("/")) return true;
  const [outer, inner] = [namesOf(operand), namesOf(path)];
  return outer.includes("..") || inner.includes("..") || outer.every((name, at) => sameName(name, inner[at]));
}

function sameName(name: string, other: string | undefined): boolean {
  return name.normalize().toLowerCase() === other?.normalize().toLowerCase(); // as a disk without case finds it
}

function namesOf(path: string): readonly string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}
