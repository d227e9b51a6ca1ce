/** The user's `sandbox` setting as the factory of local workspaces. */

import type { WorkspaceFactory } from "@capstan/core";
import { inertLine } from "./inert.ts";
import type { SandboxSettings } from "./settings.ts";

/** The sandboxes are loaded when the first workspace opens. What `preferred` falls back to is said on stderr. */
export function sandboxOf({ confinement = "preferred", kind = "bwrap", ...rules }: SandboxSettings): WorkspaceFactory {
  let made: Promise<WorkspaceFactory> | undefined;
  const make = async (): Promise<WorkspaceFactory> => {
    const { bwrap, sandboxed, srt } = await import("@capstan/tools");
    const onFallback = ({ message }: Error): void => {
      process.stderr.write(`${inertLine(message)}; programs run without a sandbox\n`);
    };
    return sandboxed({ sandbox: kind === "srt" ? srt(rules) : bwrap(rules), confinement, onFallback });
  };
  return async (root) => (await (made ??= make()))(root);
}
