/** Every limit of the desktop tools as a constant, with its unit in its name. */

export const DESKTOP_LIMITS = {
  /** Time that one thing on the desktop may take. */
  taskMs: 15_000,
  /** How long an opener may take to say that it failed. */
  openMs: 1_500,
  /** UTF-16 units written to the clipboard, and shown of it. */
  writtenCharacters: 1_000_000,
  shownCharacters: 100_000,
  /** UTF-16 units of what the program that does it answers: a screenshot as base64. */
  answerCharacters: 67_108_864,
} as const;
