/** Every limit of the ACP projections as a constant, with its unit in its name. */

export const ACP_WIRE_LIMITS = {
  /** Characters of one text of a tool's content; more is cut in the middle. */
  contentCharacters: 262_144,
  /** Of both sides of one diff; a larger one is said in words. */
  diffCharacters: 1_048_576,
  /** Of the running output of a tool that is shown again with every piece. */
  progressCharacters: 4_000,
  /** Of a title, of a name of a file. */
  titleCharacters: 500,
  /** Calls, messages and blocks that a projection remembers at once. */
  remembered: 4_096,
  /** Parts of one UI message. */
  messageParts: 4_096,
  /** Characters of all texts and thoughts of one UI message; what comes after is dropped. */
  messageCharacters: 8_388_608,
} as const;

/** A text of at most `limit` characters: its first and last half with a line between. */
export function within(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  const head = text.slice(0, half).toWellFormed();
  return `${head}\n[... ${text.length - 2 * half} characters left out ...]\n${text.slice(-half).toWellFormed()}`;
}
