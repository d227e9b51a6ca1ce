/** Programs that make, change or remove files that their words name, and those words. */

import type { ExecuteNeed } from "../ports/workspace.ts";

const WRITERS: ReadonlySet<string> = new Set(
  (
    "chmod chown chgrp chattr setfacl cp dd install ln link mkdir mkfifo mknod mv patch rename rm rmdir rsync scp sftp shred sponge " +
    "split csplit tar bsdtar gtar tee touch truncate unlink unzip wget ed ex vi vim nvim nano emacs gzip gunzip bzip2 xz zstd zip 7z cpio"
  ).split(" "),
);
/** Programs that write only with some of their words. */
const WRITING_WORDS: { readonly [program: string]: RegExp } = {
  sed: /^-[A-Za-z]*i|^--in-place/,
  gsed: /^-[A-Za-z]*i|^--in-place/,
  perl: /^-[A-Za-z0]*i/,
  ruby: /^-[A-Za-z]*i/,
  curl: /^-[A-Za-z]*[oODcK]|^--(?:output|remote|dump|cookie-jar|config|create|trace|stderr|etag-save|hsts|libcurl)/,
  sort: /^-[A-Za-z]*o|^--o/,
  uniq: /^[^-]/,
  xxd: /^[^-]/,
  find: /^-(?:delete|fprint|fprint0|fprintf|fls|exec|execdir|ok|okdir)$/,
  tree: /^-[A-Za-z]*o/,
  git: /^(?:rm|mv|restore|checkout|apply|am|clone|init|worktree|submodule|config)$/,
};
/** Reading the settings of git. */
const ASKS_CONFIG = /^(?:--get|--get-all|--get-regexp|--get-urlmatch|--list|-l|get|list|--show-origin|--show-scope)$/;

/** Options written together, before a file that is written behind them: `-sSLofile`. */
const MAX_LETTERS = 8;
/** Always there, and nothing is kept in them. */
const NOWHERE = /^\/dev\/(?:null|stdout|stderr|stdin)$/;

const MAY_BE_MORE = /=|^-/;

/** Names of files among the words of such a program, `of=file` and `-tfile` too; undefined for another program. */
export function writtenNames({ words = [] }: ExecuteNeed): readonly string[] | undefined {
  const called = words[0];
  if (typeof called !== "string") return undefined;
  const program = called.slice(called.lastIndexOf("/") + 1).toLowerCase();
  const writes = Object.hasOwn(WRITING_WORDS, program) ? WRITING_WORDS[program] : undefined;
  if (writes === undefined && !WRITERS.has(program)) return undefined;
  const rest = words.slice(1);
  if (writes !== undefined && !rest.some((word) => word !== null && writes.test(word))) return undefined;
  const names: string[] = [];
  for (const word of rest) {
    if (word === null || NOWHERE.test(word)) continue;
    if (MAY_BE_MORE.test(word)) names.push(...namesIn(word));
    else names.push(word);
  }
  if (program === "git" && changesConfig(rest)) names.push(".git/config");
  return names;
}

function namesIn(word: string): readonly string[] {
  if (word.includes("=")) return [word, word.slice(word.indexOf("=") + 1)];
  if (!/^-[A-Za-z]./.test(word)) return [word];
  return Array.from({ length: Math.min(word.length - 2, MAX_LETTERS) }, (_, at) => word.slice(at + 2)).concat(word);
}

function changesConfig(words: readonly (string | null)[]): boolean {
  return words.includes("config") && !words.some((word) => word !== null && ASKS_CONFIG.test(word));
}
