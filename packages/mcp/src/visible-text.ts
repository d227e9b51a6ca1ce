/** Words of a server as people and models may be shown them. */

/** Without control characters but line ends and tabs, and without letters that nobody sees. */
export function visibleText(value: string): string {
  return value
    .toWellFormed()
    .replaceAll(/[\p{Cf}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}]|(?![\n\t])\p{Cc}/gu, "")
    .trim();
}

/** Of an error, cut to `limit` characters. */
export function shownError(message: string, limit: number): string {
  const shown = visibleText(message.slice(0, limit));
  return message.length > limit ? `${shown}...` : shown;
}
