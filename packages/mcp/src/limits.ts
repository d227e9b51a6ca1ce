/** Every bound of the MCP client and server, with its unit in its name. */

export const MCP_LIMITS = {
  /** Servers of one configuration. */
  servers: 64,
  /** Characters of a server's name. */
  serverName: 40,
  /** Entries of one list in a configuration: arguments, headers, variables. */
  configEntries: 256,
  /** Characters of one text in a configuration. */
  configText: 32_768,
  /** Connecting to a server and listing what it has, unless its configuration says otherwise. */
  bootstrapMs: 30_000,
  /** How long a server that may be of the older kind is asked whether it is of the newer one. */
  probeMs: 10_000,
  /** One call; progress of the server starts it anew, up to `callMaxMs`. Time a person takes to answer does not count. */
  callMs: 60_000,
  callMaxMs: 1_800_000,
  /** The check before a call. */
  healthMs: 5_000,
  /** Attempts to connect again, and the first wait between them, which doubles. */
  reconnects: 3,
  reconnectBaseMs: 100,
  /** A server's own refresher. */
  refreshMs: 30_000,
  /** Hooks of the user around a call. */
  hookMs: 10_000,
  /** Bytes of one message of a server. */
  messageBytes: 16_777_216,
  /** Lists and objects inside each other in one message. */
  messageDepth: 256,
  /** Messages nobody asked for in `floodMs`, before the connection is ended. */
  unaskedMessages: 20_000,
  floodMs: 10_000,
  /** Lines on a server's output that are no messages, before the connection is ended. */
  garbageLines: 1_000,
  /** Characters of a server's error output that are kept for its errors. */
  stderrChars: 8_192,
  /** Bytes that wait to be read by a server, before a call to it fails. */
  unsentBytes: 33_554_432,
  /** Tools of one server, pages of one of its lists, characters of a description that the model reads. */
  toolsPerServer: 1_000,
  listPages: 64,
  descriptionChars: 4_096,
  /** Text of one input schema, and values in it. */
  schemaChars: 65_536,
  schemaNodes: 5_000,
  schemaDepth: 32,
  /** Longest pattern that is checked here, and longest text it is checked on. */
  patternChars: 256,
  patternText: 4_096,
  /** Optional letters and alternatives in one pattern. */
  patternChoices: 8,
  /** One check of a value against a schema. */
  checkMs: 1_000,
  /** Characters of a schema times those of a value, up to which a check is not watched. */
  smallCheck: 2_000_000,
  /** Characters of a server's error that are told. */
  errorChars: 2_000,
  /** Questions of a server to people in one call. */
  questions: 16,
  /** Parts of one result, bytes of one image or file in it, structured text. */
  resultParts: 256,
  resultFileBytes: 8_388_608,
  resultTextChars: 262_144,
  /** Times a server may ask back in one call. */
  rounds: 16,
  /** Reading what a program said before it ended. */
  drainMs: 500,
  /** Closing: after the end of its input, and after SIGTERM. */
  closeMs: 1_000,
  termMs: 1_000,
  killMs: 2_000,
  /** A sign-in in the browser. */
  loginMs: 300_000,
  /** One answer of a sign-in server. */
  authBytes: 1_048_576,
  authMs: 30_000,
  /** Tools that one search shows. */
  searchResults: 20,
  /** Body of a request to a server of ours, and runs it may drive at once. */
  requestBytes: 4_194_304,
  servedCalls: 64,
} as const;
