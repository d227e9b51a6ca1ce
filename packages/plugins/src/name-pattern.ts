/** Names of tools with `*` for any characters, as plugins take them in their options. */

/** Whether one of the patterns means the name. */
export function namePatterns(patterns: readonly string[]): (name: string) => boolean {
  const tests = patterns.map((pattern) => {
    if (!pattern.includes("*")) return (name: string): boolean => name === pattern;
    const parts = pattern.split("*");
    return (name: string): boolean => fits(name, parts);
  });
  return (name) => tests.some((test) => test(name));
}

/** Each piece is looked for behind the one before it: no pattern takes longer than its pieces times the name. */
function fits(name: string, parts: readonly string[]): boolean {
  const [first = "", ...rest] = parts;
  const last = rest.pop() ?? "";
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
  const end = name.length - last.length;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found === -1 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}
