/** The text bash makes of a word that is nothing but literal characters, quotes and escapes; read here once more, beside the parser. */

/** Characters that mean themselves outside quotes, wherever they stand in a word. */
const BARE = /[A-Za-z0-9_./:@%+,^\]=!-]+/y;
const ALL_BARE = /^[A-Za-z0-9_./:@%+,^\]=!-]+$/;
/** One pair of quotes around characters that mean themselves in them. */
const ALL_QUOTED = /^(?:'[^']*'|"[^"$`\\]*")$/;
const ESCAPES_IN = /[\\$]/;
/** In double quotes. */
const MEANS_MORE = /["$`\\]/g;
/** What `$'...'` makes of the letter after a back slash, as far as it is taken. */
const ESCAPES: { readonly [letter: string]: string } = { n: "\n", t: "\t", "\\": "\\", "'": "'", '"': '"' };

/** Whether the word is in every reading what `literalText` makes of it: nothing but bare characters and plain quotes. */
export function isPlainLiteral(word: string): boolean {
  return !ESCAPES_IN.test(word) || ALL_QUOTED.test(word);
}

type Piece = { readonly text: string; readonly end: number };

/** Undefined when the word is not literal, or not certainly so: expansions, globs, braces, letters beyond ASCII outside quotes. */
export function literalText(word: string): string | undefined {
  if (word === "[" || ALL_BARE.test(word)) return word;
  if (ALL_QUOTED.test(word)) return word.slice(1, -1);
  let found = "";
  let at = 0;
  while (at < word.length) {
    const piece = pieceAt(word, at);
    if (piece === undefined) return undefined;
    found += piece.text;
    at = piece.end;
  }
  return found;
}

function pieceAt(word: string, at: number): Piece | undefined {
  const character = word[at] ?? "";
  BARE.lastIndex = at;
  const [bare] = BARE.exec(word) ?? [];
  if (bare !== undefined) return { text: bare, end: at + bare.length };
  switch (character) {
    case "'":
      return singleQuoted(word, at);
    case '"':
      return doubleQuoted(word, at);
    case "$":
      return word[at + 1] === "'" ? escapeQuoted(word, at) : undefined;
    case "\\":
      return escaped(word, at);
    case "{":
      return braces(word, at);
    case "#":
      return at === 0 ? undefined : { text: character, end: at + 1 };
    case "~":
      return /[A-Za-z0-9]/.test(word[at - 1] ?? "") ? { text: character, end: at + 1 } : undefined;
    default:
      return undefined;
  }
}

function singleQuoted(word: string, at: number): Piece | undefined {
  const end = word.indexOf("'", at + 1);
  return end < 0 ? undefined : { text: word.slice(at + 1, end), end: end + 1 };
}

function doubleQuoted(word: string, at: number): Piece | undefined {
  let text = "";
  for (let start = at + 1; ;) {
    MEANS_MORE.lastIndex = start;
    const next = MEANS_MORE.exec(word)?.index;
    if (next === undefined) return undefined;
    text += word.slice(start, next);
    if (word[next] === '"') return { text, end: next + 1 };
    if (word[next] !== "\\") return undefined;
    const after = word[next + 1] ?? "";
    if (after !== "\n") text += /^[$`"\\]$/.test(after) ? after : `\\${after}`;
    start = next + 2;
  }
}

function escapeQuoted(word: string, at: number): Piece | undefined {
  let text = "";
  for (let next = at + 2; next < word.length; next++) {
    const character = word[next] ?? "";
    if (character === "'") return { text, end: next + 1 };
    const made = character === "\\" ? ESCAPES[word[++next] ?? ""] : character;
    if (made === undefined) return undefined;
    text += made;
  }
  return undefined;
}

function escaped(word: string, at: number): Piece | undefined {
  const character = word[at + 1] ?? "";
  return /^[ -~]$/.test(character) ? { text: character, end: at + 2 } : undefined;
}

/** Braces that bash leaves alone: `{}`, `{0}`, `{upstream}`. */
function braces(word: string, at: number): Piece | undefined {
  const [text] = /^\{\w*\}/.exec(word.slice(at)) ?? [];
  return text === undefined ? undefined : { text, end: at + text.length };
}
