/** Every limit of the language servers as a constant, with its unit in its name. */

export const LSP_LIMITS = {
  /** Time a server has to start, and to speak about a file. */
  startMs: 30_000,
  diagnosticsMs: 15_000,
  /** A server often speaks twice about a file, first of its syntax: its last word is what nothing follows for so long. */
  quietMs: 400,
  /** A server that was asked to end is ended after this. */
  endMs: 1_000,
  /** How long a server may run. */
  lifetimeMs: 43_200_000,
  /** Of one message of a server: its head and its body. */
  headBytes: 4_096,
  bodyBytes: 16_777_216,
  /** UTF-16 units that a server may leave unread. */
  unreadCharacters: 33_554_432,
  /** Of a file that is looked at. */
  fileBytes: 2_097_152,
  /** Files a server has open at once. */
  openFiles: 32,
  /** Diagnostics of one file that are shown, and UTF-16 units of one. */
  shown: 50,
  messageCharacters: 500,
} as const;
