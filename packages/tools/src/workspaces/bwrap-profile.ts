/** What a program needs of this machine to run, and what of it is shown: the system's own folders and the programs on PATH. */

import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, delimiter, dirname, isAbsolute } from "node:path";
import type { BwrapProfile } from "./bwrap-arguments.ts";
import type { SandboxRules } from "./confiner.ts";
import { isInside } from "./paths.ts";
import { unavailable } from "./sandbox-rules.ts";

/** Where systems keep programs, libraries and their settings. */
const SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store"];
/** Secrets of the machine, for the case that the user may read them. */
const MASKED_FILES = [
  "/etc/shadow",
  "/etc/shadow-",
  "/etc/gshadow",
  "/etc/gshadow-",
  "/etc/sudoers",
  "/etc/krb5.keytab",
];
/** Private or made anew inside: nothing of them can be a workspace or be shown. */
const PRIVATE = ["/proc", "/dev", "/sys", "/run"];

/** Throws `sandbox-unavailable` for a folder that cannot be a workspace in a sandbox. */
export function bwrapProfile(root: string, rules: SandboxRules): BwrapProfile {
  const home = realHome();
  checkRoot(root, home);
  const { network = false, readable = [], writable = [] } = rules;
  const more = writable.filter((path) => !isInside(root, path)).map(existing);
  for (const path of more) checkRoot(path, home);
  const system = SYSTEM.flatMap(systemEntry);
  const shown = [
    ...programFolders(home, root),
    ...readable.map(existing),
    ...(network === false ? [] : resolverFiles()),
  ];
  return {
    system,
    home,
    shown: [...new Set(shown)].filter((path) => !SYSTEM.some((folder) => isInside(folder, path))),
    masked: MASKED_FILES.filter((path) => existsSync(path)),
    writable: [root, ...more],
    readOnly: [],
    network: network === true,
    env: { HOME: home, TMPDIR: "/tmp" },
  };
}

function realHome(): string {
  try {
    return realpathSync(homedir());
  } catch {
    return "/nonexistent-home"; // an account without one still gets a private folder
  }
}

/** The home folder holds credentials, the system's folders hold programs: neither may be writable as a whole. */
function checkRoot(root: string, home: string): void {
  if (isInside(root, home)) {
    throw unavailable("bwrap", `${root} holds the home folder with all its credentials; name a folder in it`);
  }
  const taken = [...SYSTEM, ...PRIVATE].find((folder) => isInside(root, folder) || isInside(folder, root));
  if (taken !== undefined) throw unavailable("bwrap", `${root} is a folder of the system; name another one`);
}

function systemEntry(path: string): BwrapProfile["system"] {
  try {
    if (lstatSync(path).isSymbolicLink()) return [{ link: path, to: readlinkSync(path) }];
    return [path];
  } catch {
    return [];
  }
}

/** Folders of programs outside of the system's own, and what this Node needs of its installation. */
function programFolders(home: string, root: string): readonly string[] {
  const onPath = (process.env["PATH"] ?? "").split(delimiter).filter((path) => isAbsolute(path));
  const folders = onPath.flatMap((path) => {
    try {
      const real = realpathSync(path);
      const usable = statSync(real).isDirectory() && !isInside(real, home) && !isInside(real, root);
      return usable && !isInside(root, real) && !PRIVATE.some((folder) => isInside(folder, real)) ? [path, real] : [];
    } catch {
      return [];
    }
  });
  const prefix = dirname(dirname(process.execPath));
  const own =
    basename(dirname(process.execPath)) === "bin" && prefix !== home && dirname(prefix) !== home && prefix !== "/";
  return [...folders.filter((path) => path !== "/"), ...(own && !isInside(prefix, root) ? [prefix] : [])];
}

/** The list of name servers is often a link to a folder that is private inside. */
function resolverFiles(): readonly string[] {
  try {
    return [realpathSync("/etc/resolv.conf")];
  } catch {
    return [];
  }
}

function existing(path: string): string {
  try {
    return realpathSync(path);
  } catch (cause) {
    throw unavailable("bwrap", `its rules name ${path}, which is not there`, cause);
  }
}
