/** Every limit of the doors, with its unit in its name. */

export const SERVER_LIMITS = {
  /** The body of a request. */
  bodyBytes: 33_554_432,
  /** Bodies of all requests that are worked on. */
  bodiesBytes: 268_435_456,
  /** Time that a body may take to arrive, and `authorize` to answer. */
  bodyMs: 30_000,
  authorizeMs: 10_000,
  /** Written ahead to one reader of a stream; more waits in the store. */
  streamBytes: 65_536,
  /** Joined to one write. */
  writeChars: 16_384,
  /** A reader that takes nothing for so long is let go; it comes back with its cursor. */
  stallMs: 30_000,
  /** A silent stream says that it is alive. */
  keepAliveMs: 15_000,
  /** Streams at a time, of all and of one caller. */
  streams: 4_096,
  streamsOfCaller: 1_024,
  /** The longest wait for a result in one request. */
  waitMs: 25_000,
  /** Reading a result that is there. */
  readMs: 5_000,
  /** How long a run that was just sent may take to stand in the log. */
  runAppearsMs: 10_000,
  /** Sessions and messages in one answer. */
  listed: 50,
  mostListed: 500,
  messages: 1_000,
  /** Messages and subscriptions of a stdio door that are followed at a time. */
  stdioRequests: 1_024,
  /** After the end of its input a stdio door waits so long for what is under way. */
  stdioDrainMs: 60_000,
  /** A client tries again after this, doubling up to the second. */
  reconnectMs: 250,
  mostReconnectMs: 5_000,
  /** Tries in a row without an answer before a client gives up. */
  reconnects: 10,
} as const;
