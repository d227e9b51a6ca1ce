/** @capstan/tools: file tools, the shell and the local workspace. */

export { askTool } from "./ask.ts";
export { attachments, type AttachmentsOptions } from "./attachments.ts";
export { codingTools } from "./coding-tools.ts";
export {
  editTool,
  fileTools,
  globTool,
  grepTool,
  listTool,
  multiEditTool,
  readFileTool,
  writeFileTool,
  type ReadFileOptions,
} from "./files.ts";
export { findBash, shellTools } from "./shell.ts";
export { backgroundShell, type BackgroundFact } from "./shell-background.ts";
export { TOOL_LIMITS } from "./tool-limits.ts";
export { bwrap, type BwrapPrograms } from "./workspaces/bwrap.ts";
export type {
  Confined,
  ConfinedPlace,
  ConfinedStart,
  Confiner,
  Gateway,
  GatewayGrant,
  OnFallback,
  Sandbox,
  SandboxLimits,
  SandboxRules,
  ShimReport,
} from "./workspaces/confiner.ts";
export { docker, type DockerOptions } from "./workspaces/docker.ts";
export { endLeftovers, localWorkspace, type LocalOptions } from "./workspaces/local.ts";
export { sandboxed, type SandboxedOptions } from "./workspaces/sandboxed.ts";
export { srt, type SandboxRuntime, type SrtConfig, type SrtOptions } from "./workspaces/srt.ts";
