/** Bounds of what the terminal keeps and shows. What is longer is cut, and says so. */

export const TERMINAL_LIMITS = {
  /** Facts before the newest that are read when a session is opened. */
  openedFacts: 4_000,
  /** Items of the conversation that are kept. */
  items: 600,
  /** Lines of the conversation that stand above the editor; more scroll out of reach. */
  lines: 4_000,
  /** Of one text of the model, in UTF-16 units. */
  textCharacters: 400_000,
  /** Of one tool's output. */
  outputCharacters: 60_000,
  /** Of what a running tool writes: the end of it. */
  progressCharacters: 8_000,
  foldedLines: 5,
  unfoldedLines: 200,
  foldedDiffLines: 16,
  /** Lines of a request that are shown of one value. */
  requestLines: 24,
  /** Of a notice, such as the answer of a command. */
  noteLines: 80,
  progressLines: 3,
  reasoningLines: 4,
  /** Lines of each text times those of the other, up to which a diff is exact. */
  diffCells: 1_000_000,
  queueLines: 4,
  planLines: 8,
  sessions: 500,
  /** Sub-agents of sub-agents whose requests are looked for. */
  taskDepth: 4,
  /** Facts of one session that its statistics count. */
  statFacts: 200_000,
  /** Entries of the folder that `@` completes. */
  files: 5_000,
  completions: 50,
  imageBytes: 5_242_880,
  images: 10,
  history: 200,
} as const;

/** After a request appears, keys count as its answer only when none has been pressed for so long. */
export const ANSWER_QUIET_MS = 400;
/** Ctrl-C twice within this leaves. */
export const LEAVE_MS = 2_000;
/** The fastest that progress of tools is redrawn. */
export const PROGRESS_MS = 100;
/** Of the moving sign and the clock of the status line. */
export const TICK_MS = 120;
