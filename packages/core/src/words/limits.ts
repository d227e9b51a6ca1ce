/** Every limit of the core as a constant, with its unit in its name. */

export const LIMITS = {
  /** Model calls of one run unless the agent says otherwise. */
  turnsPerRun: 50,
  /** How long a waiting run keeps its hold before it parks. */
  parkAfterMs: 60_000,
  /** Open requests expire into deny or decline. */
  requestTtlMs: 604_800_000,
  /** Time a tool has to end after its signal, before its result is ignored. */
  interruptGraceMs: 500,
  /** Time one hook has, not counting what it awaits through `next`. */
  hookTimeoutMs: 10_000,
  /** Time that a resolver of models, a schema, a price or a workspace has to answer. */
  foreignMs: 60_000,
  /** One tool call unless the tool or the agent says otherwise. */
  toolTimeoutMs: 600_000,
  /** One answer of a model, its thoughts and arguments included: more is a stream without an end. */
  answerChars: 33_554_432,
  /** Model attempts of one turn, the first included. */
  modelAttempts: 5,
  /** Set aside for one answer when a budget is kept and nothing else is said; the least that is worth a call. */
  reservedOutputTokens: 32_000,
  leastOutputTokens: 256,
  /** Set aside for what frames a message, and for an image or file in it. */
  reservedMessageTokens: 16,
  reservedFileTokens: 5_000,
  /** Characters of a task's title. */
  taskTitle: 120,
  /** Sub-agents below sub-agents. */
  spawnDepth: 5,
  /** A parent that could not be told of the end of a sub-agent is told again after this. */
  tellParentAgainMs: 250,
  /** Sub-agents that one run may start. */
  spawnsPerRun: 256,
  /** Waiting between the attempts of one turn, all together. */
  modelRetryBudgetMs: 120_000,
  /** First wait between attempts; doubles up to `modelRetryMaxMs`. */
  modelRetryBaseMs: 500,
  modelRetryMaxMs: 8_000,
  /** Times a run is told that its answer does not fit the output schema. */
  outputRepairs: 1,
  /** Questions of one request, options of one question, characters of its header. */
  questions: 4,
  questionOptions: 4,
  questionHeader: 12,
  /** Bytes of a file part that stay in the fact; larger ones become blobs. */
  inlineBytes: 32_768,
  blobBytes: 67_108_864,
  /** Text of one input. */
  inputBytes: 8_388_608,
  /** Text of one tool result that the model sees. */
  toolOutputBytes: 262_144,
  /** Characters of the message of an error that somebody threw. */
  errorMessage: 65_536,
  /** What one text of it counts at least. */
  outputPartBytes: 16,
  /** Events one subscriber may have waiting before its live events are dropped and facts are read from the store. */
  subscriberEvents: 4_096,
  /** Live text kept for late subscribers, per session. */
  liveBufferBytes: 1_048_576,
  /** Facts between two snapshots of a session's state. */
  snapshotFacts: 128,
  /** A process that holds sessions shows a sign of life this often. */
  beatMs: 2_000,
  /** An owner whose sign of life stands still for this long, by the observer's clock, is taken over. */
  takeoverMs: 10_000,
  /** How often a process that holds or watches looks for changes made by others. */
  pollMs: 25,
  /** Facts read from a store in one page. */
  readPage: 512,
} as const;
