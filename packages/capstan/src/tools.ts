/** capstan/tools: file tools, the shell and the local workspace. */

export {
  codingTools,
  editTool,
  endLeftovers,
  fileTools,
  findBash,
  globTool,
  grepTool,
  listTool,
  localWorkspace,
  readFileTool,
  shellTools,
  TOOL_LIMITS,
  writeFileTool,
} from "@capstan/tools";
export type { LocalOptions, ReadFileOptions } from "@capstan/tools";
