/**
 * Commands as permission rules see them: the words of one program. A tool that reads a shell's syntax gives them with each
 * need; of any other tool a command is literal when it is nothing but plain words, and everything else is not proved.
 */

import type { ExecuteNeed } from "../ports/workspace.ts";

export type WordPattern = {
  readonly words: readonly string[];
  /** Ended in ` *`: any further words may follow. */
  readonly open: boolean;
  /** The first word as the name of a program. */
  readonly program: string;
};

type Words = readonly (string | null)[];

/** No quoting, expansion, redirect, separator, comment or glob can be written with these. */
const PLAIN = /^[A-Za-z0-9_./:=@%+,-]+$/;
/** Narrower for the program: `a=b` would be an assignment, `%1` a job, `-` an option of what ran it. */
const PROGRAM = /^[A-Za-z0-9_./][A-Za-z0-9_./+-]*$/;
/** Programs and builtins whose words are another program or another script. */
const RUNS_OTHERS = new Set(
  (
    ". ash bash builtin busybox cmd command coproc csh dash doas do else elif env eval exec fakeroot fish firejail flock " +
    "if ionice ksh ltrace nice nohup nsenter parallel powershell prlimit pwsh rlwrap runuser script setarch setpriv setsid " +
    "sh source ssh stdbuf strace su sudo systemd-run taskset tcsh then time timeout toybox trap unshare until watch while " +
    "wsl xargs xvfb-run zsh chroot chrt entr expect nix-shell proot"
  ).split(" "),
);

/** The words of a literal command, or undefined. */
function plainWords(command: string): readonly string[] | undefined {
  const words = command.split(/[ \t]+/).filter((word) => word !== "");
  return isPlain(words) ? words : undefined;
}

/** The words of the need as the names of programs. */
export function programsOf(need: ExecuteNeed): Words {
  return (need.words ?? plainWords(need.command) ?? []).map((word) => word && programName(word));
}

/** The words of a rule that means just this command; undefined when a rule cannot say them. */
export function ruleWords(need: ExecuteNeed): readonly string[] | undefined {
  if (need.words === undefined) return plainWords(need.command);
  const words = need.words.filter((word) => word !== null);
  return words.length === need.words.length && isPlain(words) ? words : undefined;
}

/** Reads `npm test`, `git push *`, `npm run test:*` or `*`; undefined when the pattern is not made of plain words. */
export function parseWordPattern(text: string): WordPattern | undefined {
  const open = /^(.*?)(?:(?:^|[ \t]+)|:)\*$/s.exec(text.trim());
  const literal = open === null ? text : (open[1] ?? "");
  if (open !== null && literal === "") return { words: [], open: true, program: "" };
  const words = plainWords(literal);
  return words && { words, open: open !== null, program: programName(words[0] ?? "") };
}

/** Whether a rule that allows covers the command: word for word, and of an open rule only what it may leave open. */
export function coversCommand(pattern: WordPattern, need: ExecuteNeed): boolean {
  const words = need.words ?? plainWords(need.command);
  if (typeof words?.[0] !== "string") return false;
  if (pattern.open && pattern.words.length === 0) return true;
  if (!pattern.open) return words.length === pattern.words.length && beginsWith(words, pattern.words);
  return pattern.words.length >= (need.named ?? 1) && beginsWith(words, pattern.words);
}

/** Whether the command may be any other, whatever its words: its program is not known, or runs what they say. */
export function isOpaque(need: ExecuteNeed): boolean {
  const words = need.words ?? plainWords(need.command);
  const called = words?.[0];
  if (words === undefined || typeof called !== "string") return true;
  return (need.words === undefined || (need.named ?? 1) >= words.length) && RUNS_OTHERS.has(programName(called));
}

/**
 * Whether a rule that forbids means a command that is not opaque. `maybe`: it cannot be told, because words are not known,
 * or are those of the rule in another order or spelling (`git -C folder push` under `git push *`). `programs` gives what
 * `programsOf` does.
 */
export function forbidsCommand(pattern: WordPattern, need: ExecuteNeed, programs: Words): "yes" | "maybe" | "no" {
  const words = need.words ?? plainWords(need.command) ?? [];
  const start = programs.indexOf(pattern.program);
  if (start < 0) return "no";
  if (start === 0) {
    const means = meansSame({ ...pattern, words: pattern.words.slice(1) }, words.slice(1));
    if (means !== "no") return means;
  }
  return isWithin(pattern, words, start) ? "maybe" : "no";
}

function isPlain(words: readonly string[]): boolean {
  return PROGRAM.test(words[0] ?? "") && words.every((word) => PLAIN.test(word));
}

function beginsWith(words: Words, wanted: readonly string[]): boolean {
  return words.length >= wanted.length && wanted.every((word, at) => word === words[at]);
}

/** The words after the same program's name. */
function meansSame(pattern: WordPattern, words: Words): "yes" | "maybe" | "no" {
  const isLong = pattern.open || words.length === pattern.words.length;
  if (isLong && beginsWith(words, pattern.words)) return "yes";
  const unknownAt = words.indexOf(null);
  if (
    unknownAt >= 0 &&
    unknownAt < pattern.words.length &&
    words.slice(0, unknownAt).every((word, at) => word === pattern.words[at])
  )
    return "maybe"; // what is not known may be the words of the rule
  const hidden = words[0]?.startsWith("-") === true && pattern.words[0]?.startsWith("-") === false;
  if (hidden) return "maybe"; // options before the subcommand may hold or rename it
  return hasOptions(pattern.words) && hasAll(pattern.words, words) ? "maybe" : "no";
}

function hasOptions(words: readonly string[]): boolean {
  return words.some((word) => word.startsWith("-"));
}

/** Whether the command has the rule's words and options in any order and spelling: `-fr`, `-r -f` and `--force -r` for `-rf`. */
function hasAll(wanted: readonly string[], words: Words): boolean {
  const given = words.filter((word) => word !== null);
  const letters = given.filter((word) => /^-[^-]/.test(word)).join("");
  const long = given.filter((word) => word.startsWith("--"));
  const has = (word: string): boolean => {
    if (!word.startsWith("-")) return given.includes(word);
    if (word.startsWith("--")) {
      const name = word.replace(/=.*/s, "");
      return letters !== "" || long.some((other) => name.startsWith(other.replace(/=.*/s, "")));
    }
    return long.length > 0 || Array.from(word).every((letter) => letters.includes(letter));
  };
  return words.length > given.length || wanted.every(has);
}

/** Whether the words of the rule stand in this order among the words from `start` on, where its program does. */
function isWithin(pattern: WordPattern, words: Words, start: number): boolean {
  let found = 1;
  for (let at = start + 1; at < words.length; at++) if (words[at] === pattern.words[found]) found++;
  return found >= pattern.words.length;
}

/** The program whatever folder it is named by, and as file systems without case find it. */
function programName(word: string): string {
  if (/^[a-z0-9_-]+$/.test(word)) return word;
  const name = word.slice(word.lastIndexOf("/") + 1).toLowerCase();
  return name.replace(/\.(?:exe|cmd|bat|com)$/, "");
}
