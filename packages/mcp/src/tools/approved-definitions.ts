/** Which definition of a tool a person last let run: another one asks again, whatever rules say (G16). */

import { hashJson, type Json } from "@capstan/core";
import type { OfferedTool } from "./tool-view.ts";

/** Hashes of definitions by `mcp:server/tool`. A durable one is given by whoever keeps files. */
export type ApprovedDefinitions = { get(name: string): string | undefined; set(name: string, hash: string): void };

export function rememberedDefinitions(): ApprovedDefinitions {
  return new Map<string, string>();
}

/** Of all that the model is told of a tool. */
export function definitionHash({ name, description, inputSchema }: OfferedTool): string {
  return hashJson({ name, description, inputSchema } as Json); // plain data
}
