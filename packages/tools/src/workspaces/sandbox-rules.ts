/** What all sandboxes share: finding their programs on trusted paths, saying what is in force and what is missing. */

import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { CapstanError } from "@capstan/core";
import type { SandboxRules } from "./confiner.ts";

/** The first of these absolute paths that is a program. */
export function findProgram(paths: readonly string[]): string | undefined {
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return statSync(path).isFile();
    } catch {
      return false;
    }
  });
}

/** Programs that the tools themselves start through the workspace: they must be there inside too. */
export async function ownPrograms(): Promise<readonly string[]> {
  try {
    const { rgPath } = await import("@vscode/ripgrep");
    return [realpathSync(rgPath)];
  } catch {
    return []; // the tools that need it say so
  }
}

export function unavailable(name: string, why: string, cause?: unknown): CapstanError {
  return new CapstanError("sandbox-unavailable", `The sandbox ${name} cannot be used: ${why}`, { cause });
}

/** `bwrap, no network, at most 512 processes`: what `tool.started` records. */
export function confinementText(name: string, { network = false, writable = [], limits = {} }: SandboxRules): string {
  const { memoryBytes, cpuSeconds, processes } = limits;
  return [
    name,
    network === false ? "no network" : network === true ? "network" : `network to ${network.join(" ")}`,
    ...(writable.length === 0 ? [] : [`also writes ${writable.join(" ")}`]),
    ...(memoryBytes === undefined ? [] : [`at most ${memoryBytes} bytes of memory`]),
    ...(cpuSeconds === undefined ? [] : [`at most ${cpuSeconds} s of processor time`]),
    ...(processes === undefined ? [] : [`at most ${processes} processes`]),
  ].join(", ");
}
