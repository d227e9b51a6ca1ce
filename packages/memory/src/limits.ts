/** Every limit of long-term memory as a constant, with its unit in its name. */

export const MEMORY_LIMITS = {
  /** One passage: what is embedded and found. Neighbours share an edge, so that no sentence is cut out of reach. */
  chunkCharacters: 1_600,
  chunkOverlap: 160,
  /** One text that is remembered. */
  textCharacters: 65_536,
  /** What is looked for; the rest of a longer question is not read. */
  queryCharacters: 4_096,
  queryWords: 32,
  /** Passages of one scope. Search reads every vector of a scope. */
  chunks: 20_000,
  /** Passages of one answer, and of what one run is told. */
  found: 50,
  recalled: 5,
  /** Characters of one passage that a tool shows, and of all that a run is told. */
  shownCharacters: 2_000,
  recalledCharacters: 8_000,
  /** Labels, origins and names of scopes. */
  labels: 64,
  nameCharacters: 512,
  /** Files that are open at once; those of memory without a folder cannot be closed, only refused. */
  openFiles: 16,
  scopesWithoutFolder: 1_024,
  /** Texts of one request to an embedder, and passages without a vector that one call makes good. */
  embedBatch: 32,
  embedPerCall: 256,
  embedMs: 20_000,
  /** An embedder that failed is left alone for this long: until then words alone are searched. */
  embedRestMs: 30_000,
  embedAnswerBytes: 33_554_432,
  dimensions: 8_192,
  /** How long SQLite waits for another process, which blocks the thread. */
  busyMs: 2_000,
  /** Time of the plugin's hooks. */
  hookMs: 30_000,
} as const;
