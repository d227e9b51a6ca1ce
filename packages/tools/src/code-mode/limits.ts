/** Limits of programs that a model writes, with their units in their names. */

export const CODE_LIMITS = {
  /** One program. */
  codeCharacters: 65_536,
  /** Calls of one program, all together and at the same time. */
  calls: 500,
  callsAtOnce: 32,
  /** Arguments of one call, as JSON. */
  inputCharacters: 262_144,
  /** What it returns, as JSON, and what it writes to the console. */
  resultCharacters: 65_536,
  consoleCharacters: 16_384,
  errorCharacters: 4_096,
  /** Computing between two waits for calls, in the process itself; then it is killed from outside. */
  burstMs: 10_000,
  graceMs: 3_000,
  heapMegabytes: 64,
  /** One answer of the process. */
  answerBytes: 20_971_520,
  /** How long a process waits for results before it is ended; it is begun anew when they come. */
  idleMs: 30_000,
  /** Processes that wait at the same time. */
  waiting: 8,
  /** What a model is told of the tools. */
  descriptionCharacters: 32_768,
} as const;
