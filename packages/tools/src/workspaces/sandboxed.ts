/** Workspaces of this machine whose programs run in a sandbox: required, preferred or off. */

import { CapstanError, systemClock, type Workspace, type WorkspaceFactory } from "@capstan/core";
import type { Confiner, Gateway, OnFallback, Sandbox } from "./confiner.ts";
import { localWorkspace } from "./local.ts";
import { sweepMountPoints } from "./mount-points.ts";
import { endLeftovers } from "./process-group.ts";

export type SandboxedOptions = {
  readonly sandbox: Sandbox;
  /** `required` throws `sandbox-unavailable` where the sandbox cannot be had; `preferred` runs without. Default `required`. */
  readonly confinement?: "required" | "preferred" | "off";
  /** Default: a warning of the process. */
  readonly onFallback?: OnFallback;
  /** What programs may use outside, such as `broker()`. Throws `sandbox-unavailable` where the sandbox cannot let them. */
  readonly gateway?: Gateway;
};

/**
 * A factory for `openRuntime({ workspaces: { local: sandboxed({ sandbox: bwrap() }) } })`. What a killed process left on
 * this machine is ended before the first workspace opens.
 */
export function sandboxed({
  sandbox,
  confinement = "required",
  onFallback = warn,
  gateway,
}: SandboxedOptions): WorkspaceFactory {
  let cleaned: Promise<unknown> | undefined;
  return async (root): Promise<Workspace> => {
    await (cleaned ??= cleanUp());
    return localWorkspace(root, {
      ...(gateway && { gateway }),
      confine: async (real) => (confinement === "off" ? undefined : open(sandbox, real, confinement, onFallback)),
    });
  };
}

async function open(
  sandbox: Sandbox,
  root: string,
  confinement: "required" | "preferred",
  onFallback: OnFallback,
): Promise<Confiner | undefined> {
  try {
    return await sandbox.open(root);
  } catch (error) {
    if (confinement === "required" || !CapstanError.is(error, "sandbox-unavailable")) throw error;
    onFallback(error);
    return undefined;
  }
}

async function cleanUp(): Promise<void> {
  await endLeftovers(systemClock);
  sweepMountPoints();
}

function warn({ message }: CapstanError): void {
  process.emitWarning(`${message}. Programs run without a sandbox`, { code: "sandbox-unavailable" });
}
