/** Every limit of the broker as a constant, with its unit in its name. */

export const BROKER_LIMITS = {
  /** Of the body of a request, and of an answer. */
  requestBytes: 10_485_760,
  responseBytes: 67_108_864,
  /** Longest silence of a service, and the whole time of one request. */
  idleMs: 60_000,
  totalMs: 600_000,
  /** Time that `headers` has to say what they are. */
  headersMs: 10_000,
  /** Connections of programs at once. */
  connections: 64,
  /** Time a program has to say what it asks for. */
  headMs: 10_000,
  /** Requests of one session that wait to be written into its log; of more only their number is kept. */
  noted: 200,
  /** UTF-16 units of a path in the log. */
  notedPathCharacters: 200,
} as const;
