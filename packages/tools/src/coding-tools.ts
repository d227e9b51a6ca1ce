/** What an agent that works on code needs. */

import type { Tool } from "@capstan/core";
import { fileTools, type ReadFileOptions } from "./files.ts";
import { shellTools } from "./shell.ts";

/** The file tools, and `shell` where there is a bash. */
export function codingTools(options: ReadFileOptions = {}): Tool[] {
  return [...fileTools(options), ...shellTools()];
}
