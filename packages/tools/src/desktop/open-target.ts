/** What may be opened with its usual program: pages of the web, and files and folders of the workspace that run nothing. */

import { extname } from "node:path";
import { CapstanError, type Workspace } from "@capstan/core";
import { shownPath } from "../tool-answer.ts";

/** Opening them runs them, on one system or another. */
const RUNS = new Set(
  (
    ".desktop .app .command .tool .workflow .scpt .applescript .terminal .pkg .mpkg .dmg .exe .com .bat .cmd .msi .msix .ps1 .vbs " +
    ".vbe .jse .wsf .wsh .hta .scr .pif .cpl .lnk .url .webloc .inetloc .reg .jar .jnlp .appimage .run .deb .rpm .flatpakref .sh .bash"
  ).split(" "),
);

/** The address of a page. Undefined for what is no web address. */
export function webTarget(target: string): string | undefined {
  const url = /^https?:\/\//i.test(target) && URL.canParse(target) ? new URL(target) : undefined;
  return url?.username === "" && url.password === "" ? url.href : undefined;
}

/** Absolute path of a file or folder. Throws as `workspace.stat` does, and `permission-denied` for what would run. */
export async function fileTarget(workspace: Workspace, target: string): Promise<string> {
  const { type } = await workspace.stat(target);
  const path = workspace.resolve(target);
  const [real = path] = (await workspace.realPaths?.([path])) ?? [];
  if (type === "other") throw new CapstanError("path-special", `${shownPath(target)} is no file and no folder`);
  if (RUNS.has(extname(real).toLowerCase()) || RUNS.has(extname(path).toLowerCase()))
    throw new CapstanError("permission-denied", `Opening ${shownPath(target)} would run it`);
  return real;
}
