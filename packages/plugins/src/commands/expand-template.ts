/** Arguments put into the text of a command: as text, in one pass, run by nobody. */

/** The words of a line as a shell would part them: quotes keep several together, a backslash keeps the next character. */
export function wordsOf(line: string): readonly string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let at = 0; at < line.length; at++) {
    const character = line.charAt(at);
    if (character === "\\" && quote !== "'" && at + 1 < line.length) word = (word ?? "") + line.charAt(++at);
    else if (quote !== "") {
      if (character === quote) quote = "";
      else word = (word ?? "") + character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= "";
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + character;
  }
  return word === undefined ? words : [...words, word];
}

const PLACE = /\\\$|\$ARGUMENTS\b|\$([1-9]\d?)(?!\d)/g;

/**
 * `$ARGUMENTS` is the whole line, `$1` to `$99` are its words, `\$` is a dollar. What an argument holds is not looked into
 * again. Arguments that the text has no place for stand behind it.
 */
export function expandTemplate(template: string, line: string): string {
  const words = wordsOf(line);
  let isPlaced = false;
  const text = template.replaceAll(PLACE, (found, number: string | undefined) => {
    if (found === "\\$") return "$";
    isPlaced = true;
    return number === undefined ? line : (words[Number(number) - 1] ?? "");
  });
  return isPlaced || line === "" ? text : `${text}\n\nArguments: ${line}`;
}
