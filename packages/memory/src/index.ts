/** @capstan/memory: long-term memory for agents. Every public name, and nothing else. */

export type { Embedder, EmbedOptions } from "./embedder.ts";
export { ollamaEmbedder, openaiEmbedder, type EmbedderOptions } from "./http-embedders.ts";
export { MEMORY_LIMITS } from "./limits.ts";
export {
  memory,
  type ForgetWhich,
  type Found,
  type Memory,
  type MemoryOptions,
  type MemoryScope,
  type NewMemory,
  type Remembered,
  type RememberedAs,
} from "./memory.ts";
export { memoryPlugin, type MemoryPluginOptions } from "./memory-plugin.ts";
export type { ProjectOf, SessionPlace } from "./session-scope.ts";
