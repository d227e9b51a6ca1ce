/** The user's `sandbox` setting, as the command line may change it, and the factory of local workspaces it stands for. */

import type { WorkspaceFactory } from "@capstan/core";
import type { Sandbox } from "@capstan/tools";
import { inertLine } from "./inert.ts";
import type { SandboxSettings, Settings } from "./settings.ts";

export type Confinement = NonNullable<SandboxSettings["confinement"]>;

/** `--sandbox` wins over the settings; what a sandbox lets through stays theirs. */
export function withSandbox(settings: Settings, confinement: Confinement | undefined): Settings {
  return confinement === undefined ? settings : { ...settings, sandbox: { ...settings.sandbox, confinement } };
}

export async function sandboxBy({
  confinement: _confinement,
  kind = "bwrap",
  ...rules
}: SandboxSettings): Promise<Sandbox> {
  const { bwrap, srt } = await import("@capstan/tools");
  return kind === "srt" ? srt(rules) : bwrap(rules);
}

/** The sandboxes are loaded when the first workspace opens. What `preferred` falls back to is said on stderr. */
export function sandboxOf(settings: SandboxSettings): WorkspaceFactory {
  let made: Promise<WorkspaceFactory> | undefined;
  const make = async (): Promise<WorkspaceFactory> => {
    const { sandboxed } = await import("@capstan/tools");
    const onFallback = ({ message }: Error): void => {
      process.stderr.write(`${inertLine(message)}; programs run without a sandbox\n`);
    };
    return sandboxed({
      sandbox: await sandboxBy(settings),
      confinement: settings.confinement ?? "preferred",
      onFallback,
    });
  };
  return async (root) => (await (made ??= make()))(root);
}
