/** The expression of `find`: what it only looks at, and the commands it runs by `-exec`. */

import type { Argument } from "./argument.ts";

const ALONE: ReadonlySet<string> = new Set(
  (
    "-print -print0 -prune -depth -d -mount -xdev -follow -empty -readable -writable -executable -true -false -ls -nouser -nogroup " +
    "-not ! ( ) -a -o -and -or , -quit -daystart -noleaf -warn -nowarn -ignore_readdir_race -L -P -H"
  ).split(" "),
);
const WITH_VALUE: ReadonlySet<string> = new Set(
  (
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -mmin -atime -amin -ctime " +
    "-cmin -newer -anewer -cnewer -user -group -uid -gid -perm -links -inum -samefile -maxdepth -mindepth -lname -ilname -fstype " +
    "-printf -used"
  ).split(" "),
);

/** The commands that `find` runs; undefined when it may do something else that is not a search. */
export function findCommands(words: readonly Argument[]): readonly (readonly Argument[])[] | undefined {
  const commands: (readonly Argument[])[] = [];
  for (let at = 1; at < words.length; at++) {
    const word = words[at];
    if (word?.shape === "operand" || (word?.text !== undefined && isPath(word.text))) continue;
    if (word?.text === undefined) return undefined;
    if (ALONE.has(word.text)) continue;
    if (WITH_VALUE.has(word.text)) {
      const value = words[++at];
      if (value?.shape !== "text" && value?.shape !== "one" && !isQuoted(value)) return undefined;
    } else if (word.text === "-exec") {
      const end = commandEnd(words, at + 1);
      if (end === undefined) return undefined;
      commands.push(words.slice(at + 1, end).map(found));
      at = end;
    } else return undefined;
  }
  return commands;
}

function isPath(text: string): boolean {
  return text !== "" && !/^[-!(),]/.test(text);
}

function isQuoted(word: Argument | undefined): boolean {
  return word?.shape === "operand" && /^"[^"]*"$/.test(word.source);
}

/** Where `;` stands, or the `+` after `{}`. */
function commandEnd(words: readonly Argument[], start: number): number | undefined {
  for (let at = start; at < words.length; at++) {
    const { text } = words[at] ?? {};
    if (text === undefined && words[at]?.shape !== "operand") return undefined;
    if (text === ";" || (text === "+" && words[at - 1]?.text === "{}")) return at;
  }
  return undefined;
}

/** A word in which `find` puts a path. Paths begin as the folder does that is searched. */
function found(word: Argument): Argument {
  if (word.text === undefined || !word.text.includes("{}")) return word;
  return { shape: word.text === "{}" ? "operand" : "one", source: word.source };
}
