/** capstan/memory: what conversations remember for later ones. */

export {
  memory,
  MEMORY_LIMITS,
  memoryPlugin,
  ollamaEmbedder,
  openaiEmbedder,
  type Embedder,
  type EmbedderOptions,
  type EmbedOptions,
  type ForgetWhich,
  type Found,
  type Memory,
  type MemoryOptions,
  type MemoryPluginOptions,
  type MemoryScope,
  type NewMemory,
  type ProjectOf,
  type Remembered,
  type RememberedAs,
  type SessionPlace,
} from "@capstan/memory";
