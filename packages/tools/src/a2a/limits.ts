/** Every limit of the A2A client as a constant, with its unit in its name. */

export const A2A_LIMITS = {
  cardBytes: 262_144,
  cardTimeoutMs: 15_000,
  /** Of one answer, and of one event of a stream. */
  replyBytes: 8_388_608,
  /** All events of one stream; what comes after is asked for by polling. */
  streamBytes: 67_108_864,
  /** A server that cannot stream may answer when its work is done. */
  sendTimeoutMs: 600_000,
  readTimeoutMs: 30_000,
  cancelTimeoutMs: 5_000,
  /** Longest silence of a stream, before polling takes over. */
  streamIdleMs: 120_000,
  /** Between two looks at a task: the first wait, doubled up to the last. */
  pollMinMs: 250,
  pollMaxMs: 5_000,
  /** Looks in a row that may fail before the call does. */
  pollFailures: 5,
  /** How long an interrupted call waits for the answer to its cancel: below the loop's grace for it. */
  cancelMs: 400,
  /** Times that the other agent may ask back in one task. */
  rounds: 16,
  /** Characters of what it asks or says in between. */
  saidCharacters: 4_000,
  /** Files of one answer that are kept. */
  files: 16,
} as const;
