/** A folder of a project as definitions are read from it: only what a person trusts, as it was when he decided (G19). */

import { join } from "node:path";
import { CapstanError } from "@capstan/core";
import type { DefinitionFolder } from "@capstan/plugins/skills";
import { trustOf, type Trust } from "../trust.ts";

/** Under the decision that was looked at once. */
export function trustedFolder(trust: Trust, below: string): DefinitionFolder {
  return folderUnder(trust, below);
}

/** Under the decision as it is whenever the folder is listed: throws `permission-denied` once what was trusted has changed. */
export function currentTrustedFolder(root: string, below: string): DefinitionFolder {
  let seen: DefinitionFolder | undefined;
  return {
    path: join(root, below),
    async list() {
      const trust = await trustOf(root);
      if (trust.state === "changed")
        throw new CapstanError("permission-denied", `What you trusted in ${trust.folder} has changed`);
      seen = folderUnder(trust, below);
      return seen.list();
    },
    read: async (name, maxBytes) => seen?.read(name, maxBytes),
  };
}

function folderUnder(trust: Trust, below: string): DefinitionFolder {
  const names =
    trust.state === "trusted"
      ? trust.files.flatMap((name) => (name.startsWith(`${below}/`) ? [name.slice(below.length + 1)] : []))
      : [];
  return {
    path: join(trust.folder, below),
    list: async () => names.toSorted(),
    async read(name, maxBytes) {
      if (!names.includes(name)) return undefined;
      const bytes = await trust.read(`${below}/${name}`);
      if (bytes !== undefined && bytes.length > maxBytes)
        throw new CapstanError("file-too-large", `${below}/${name} has more than ${maxBytes} bytes`);
      return bytes;
    },
  };
}
