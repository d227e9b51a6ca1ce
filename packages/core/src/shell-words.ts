/**
 * Shell commands as permission rules see them until a syntax tree exists: a command is literal when it is nothing but
 * plain words, so that bash runs exactly one program with exactly these arguments. Everything else is not proved.
 */

export type WordPattern = {
  readonly words: readonly string[];
  /** Ended in ` *`: any further words may follow. */
  readonly open: boolean;
};

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
export function plainWords(command: string): readonly string[] | undefined {
  const words = command.split(/[ \t]+/).filter((word) => word !== "");
  if (words.length === 0 || !PROGRAM.test(words[0] ?? "")) return undefined;
  return words.every((word) => PLAIN.test(word)) ? words : undefined;
}

/** Reads `npm test`, `git push *`, `npm run test:*` or `*`; undefined when the pattern is not made of plain words. */
export function parseWordPattern(text: string): WordPattern | undefined {
  const open = /^(.*?)(?:(?:^|[ \t]+)|:)\*$/s.exec(text.trim());
  const literal = open === null ? text : (open[1] ?? "");
  if (open !== null && literal === "") return { words: [], open: true };
  const words = plainWords(literal);
  return words && { words, open: open !== null };
}

/** Whether a rule that allows covers the literal command: word for word. */
export function coversWords(pattern: WordPattern, words: readonly string[]): boolean {
  if (pattern.open ? words.length < pattern.words.length : words.length !== pattern.words.length) return false;
  return pattern.words.every((word, at) => word === words[at]);
}

/**
 * Whether a rule that forbids means the command. `maybe`: it cannot be told, because the command is not literal, runs
 * another program, or has the rule's words with others in between (`git -C folder push` under `git push *`).
 */
export function forbidsWords(pattern: WordPattern, command: string): "yes" | "maybe" | "no" {
  if (pattern.open && pattern.words.length === 0) return "yes";
  const words = plainWords(command);
  if (words === undefined) return "maybe";
  const [program = "", ...rest] = pattern.words;
  const sameProgram = programName(program) === programName(words[0] ?? "");
  if (sameProgram && coversWords({ words: rest, open: pattern.open }, words.slice(1))) return "yes";
  if (RUNS_OTHERS.has(programName(words[0] ?? ""))) return "maybe";
  const hidden = sameProgram && words[1]?.startsWith("-") === true && rest[0]?.startsWith("-") === false;
  if (hidden) return "maybe"; // options before the subcommand may hold or rename it
  return isWithin(pattern.words, words) ? "maybe" : "no";
}

function isWithin(some: readonly string[], words: readonly string[]): boolean {
  let found = 0;
  for (const word of words) {
    const wanted = some[found];
    if (wanted === word || (found === 0 && programName(wanted ?? "") === programName(word))) found++;
  }
  return found === some.length;
}

/** The program whatever folder it is named by, and as file systems without case find it. */
function programName(word: string): string {
  const name = word.slice(word.lastIndexOf("/") + 1).toLowerCase();
  return name.replace(/\.(?:exe|cmd|bat|com)$/, "");
}
