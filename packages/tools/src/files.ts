/** The file tools: read, write, edit, list, find and search in the workspace of the session. */

import type { Tool } from "@capstan/core";
import { editTool } from "./files/edit.ts";
import { globTool } from "./files/glob.ts";
import { grepTool } from "./files/grep.ts";
import { listTool } from "./files/list-folder.ts";
import { multiEditTool } from "./files/multi-edit.ts";
import { readFileTool, type ReadFileOptions } from "./files/read-file.ts";
import { writeFileTool } from "./files/write-file.ts";

export { editTool, globTool, grepTool, listTool, multiEditTool, readFileTool, type ReadFileOptions, writeFileTool };

/** `read_file`, `write_file`, `edit`, `multi_edit`, `list`, `glob`, `grep`. */
export function fileTools(options: ReadFileOptions = {}): readonly Tool[] {
  return [readFileTool(options), writeFileTool, editTool, multiEditTool, listTool, globTool, grepTool];
}
