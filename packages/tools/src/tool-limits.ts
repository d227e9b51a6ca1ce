/** Every limit of the tools and the local workspace as a constant, with its unit in its name. Each has a test. */

export const TOOL_LIMITS = {
  /** UTF-16 units of a path as a model wrote it. */
  pathCharacters: 4_096,
  /** What `read` of a workspace returns at most unless told otherwise. */
  workspaceReadBytes: 67_108_864,
  /** Entries of one folder that `list` of a workspace reads. */
  folderEntries: 20_000,

  /** Size of a file `read_file`, `edit` and `write_file` work on. */
  fileBytes: 10_485_760,
  /** Size of an image and of a PDF that `read_file` shows, and the longest side of an image: what providers take. */
  imageBytes: 5_242_880,
  pdfBytes: 33_554_432,
  imagePixels: 8_000,
  /** Lines of one `read_file`. */
  readLines: 2_000,
  /** UTF-16 units of one line of `read_file`; the rest is cut with a marker. */
  readLineCharacters: 2_000,
  /** UTF-16 units of one `read_file`; it stops before the line that would exceed it. */
  readCharacters: 200_000,
  /** UTF-16 units of each side of a diff; beyond it only the changed region is shown. */
  diffCharacters: 65_536,
  /** Entries `list` shows. */
  listEntries: 1_000,

  /** UTF-16 units of a glob pattern, and the alternatives its braces may give. */
  globCharacters: 1_000,
  globAlternatives: 256,
  /** Files `glob` shows. */
  globFiles: 1_000,
  /** Lines `grep` shows unless told otherwise, and at most. */
  grepLines: 200,
  grepMaxLines: 2_000,
  /** UTF-16 units of one line and of the whole result of `grep`. */
  grepLineCharacters: 500,
  grepCharacters: 100_000,
  /** Larger files are not searched. */
  grepFileBytes: 10_485_760,
  /** One search by `glob` or `grep`. */
  searchTimeoutMs: 30_000,

  /** UTF-8 bytes of a command: what Linux takes as one argument. */
  shellCommandBytes: 131_071,
  shellTimeoutMs: 120_000,
  shellMaxTimeoutMs: 600_000,
  /** UTF-16 units of a command's output in the result: the first and the last half. */
  shellCharacters: 30_000,
  /** UTF-16 units of a command's output that are shown live. */
  shellProgressCharacters: 262_144,

  /** Background commands of one session that may run at once, and ended ones that can still be read. */
  backgroundRunning: 16,
  backgroundEnded: 32,
  /** How long a background command may run. */
  backgroundLifetimeMs: 43_200_000,
  /** UTF-16 units of its output that are kept: the last ones. */
  backgroundCharacters: 262_144,
  /** How long the start of one waits for an early end, and a look at its output for something new, at most. */
  backgroundStartMs: 250,
  backgroundWaitMs: 60_000,

  /** Time between SIGTERM and SIGKILL. Below the loop's grace for an interrupted tool. */
  killGraceMs: 200,
  /** How long SIGKILL is repeated for what is still found. */
  killMs: 2_000,
  /** Time processes that outlive the main one have to end by themselves. */
  settleMs: 250,
  /** Time to the end of the output after the last known process has ended. */
  drainMs: 500,
} as const;
