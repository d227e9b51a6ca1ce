/** Text that any provider's JSON parser accepts. */

/** `JSON.stringify`, with lone surrogates (of text cut in the middle) replaced: providers refuse their escapes. */
export function wireJson(value: unknown): string {
  const json = JSON.stringify(value);
  if (!json.includes("\\ud")) return json;
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === "string" ? member.toWellFormed() : member,
  );
}

/** Whether a provider would take this as text: most refuse empty blocks. */
export function isBlank(text: string): boolean {
  return !/\S/.test(text);
}
