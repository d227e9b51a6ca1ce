/** @capstan/tools: file tools, the shell and the local workspace. */

export { codingTools } from "./coding-tools.ts";
export {
  editTool,
  fileTools,
  globTool,
  grepTool,
  listTool,
  readFileTool,
  writeFileTool,
  type ReadFileOptions,
} from "./files.ts";
export { findBash, shellTools } from "./shell.ts";
export { TOOL_LIMITS } from "./tool-limits.ts";
export { endLeftovers, localWorkspace, type LocalOptions } from "./workspaces/local.ts";
