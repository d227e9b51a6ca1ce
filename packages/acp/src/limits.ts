/** Every limit of the ACP agent and client as a constant, with its unit in its name. */

export const ACP_LIMITS = {
  /** One message on the line; a longer one is refused and skipped. */
  messageBytes: 33_554_432,
  /** Objects and lists within each other in one message. */
  messageDepth: 128,
  /** Requests of the other side that are at work at once; more are refused. */
  openRequests: 256,
  /** Sessions that one connection shows at once. */
  shownSessions: 256,
  /** Sessions of one page of a list, and those looked at for it. */
  listPage: 50,
  listLooked: 500,
  /** How long the last messages may take to be written when a connection ends. */
  flushMs: 2_000,
  /** Characters of a session's title that is made of its first prompt. */
  titleCharacters: 60,

  /** Answers of another agent to what is asked before a prompt. */
  openMs: 60_000,
  /** How long another agent may take to end a prompt that was cancelled, before its process is ended. */
  cancelMs: 10_000,
  /** How long a policy may think about one question of permission; then it is refused. */
  permissionMs: 300_000,
  /** How long an agent that waits for a person is kept when nothing else of its run is at work. */
  personMs: 3_600_000,
  /** Characters of what a person reads about one of its questions. */
  detailCharacters: 8_000,
  /** Questions of permission of one agent that are open at once; more are refused. */
  openPermissions: 64,
  /** Between SIGTERM and SIGKILL, and after it. */
  endGraceMs: 2_000,
  endKillMs: 2_000,
  /** The last characters of its standard error that are kept for the message of an error. */
  stderrCharacters: 4_000,
  /** Starts again within `restartWindowMs` before an agent counts as broken; the first wait between them, doubled up to the last. */
  restarts: 3,
  restartWindowMs: 60_000,
  restartBaseMs: 250,
  restartMaxMs: 5_000,
  /** UI messages that are kept of one session, the newest; bytes of the file that keeps them. */
  messages: 2_000,
  messageFileBytes: 67_108_864,
  /** Permissions that were answered by themselves and are remembered for whoever asks what was permitted. */
  permissionRecords: 1_000,
} as const;
