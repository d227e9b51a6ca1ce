/** Colours for code: comments, strings, numbers and keywords, by families of languages. No parser, and never wrong by more than a colour. */

import type { Role } from "../themes.ts";

type Family = { readonly comment: string; readonly keywords: ReadonlySet<string> };

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));
const C_LIKE = words(
  "abstract any as async await break case catch class const continue default defer delete do else enum export extends extern false final finally fn for from func function go if impl implements import in instanceof interface let loop match mod mut namespace new nil null of package private protected pub public readonly return select self static struct super switch this throw throws trait true try type typeof undefined unsafe use using var void while with yield int long float double bool boolean char string",
);
const SCRIPT = words(
  "and as assert async await begin break case class continue def del do done elif else elsif end ensure esac except exit export False fi finally for from function global if import in is lambda local module nil None nonlocal not or pass raise require rescue return self set then True try unless until when while with yield echo true false null",
);
const SQL = words(
  "select from where insert into update delete create table index drop alter join left right inner outer on group by order having limit offset values set and or not null primary key references as distinct union all case when then else end",
);
const SLASHES = String.raw`\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)`;
const HASH = String.raw`#[^\n]*`;
const DASHES = String.raw`--[^\n]*`;
const FAMILIES: { readonly [language: string]: Family } = Object.fromEntries([
  ..."js jsx ts tsx javascript typescript java c cc cpp h cs go rust rs swift kotlin kt scala php json jsonc css scss dart zig"
    .split(" ")
    .map((name) => [name, { comment: SLASHES, keywords: C_LIKE }] as const),
  ..."py python rb ruby sh bash zsh shell yaml yml toml ini perl r make dockerfile"
    .split(" ")
    .map((name) => [name, { comment: HASH, keywords: SCRIPT }] as const),
  ..."sql lua haskell hs"
    .split(" ")
    .map((name) => [name, { comment: DASHES, keywords: name === "sql" ? SQL : SCRIPT }] as const),
]);
const MAX_CHARACTERS = 50_000;

/** Lines with styles. A language that is not known stays as it is. */
export function highlight(
  code: string,
  language: string | undefined,
  style: (role: Role, text: string) => string,
): string[] {
  const name = (language ?? "").toLowerCase();
  const family = Object.hasOwn(FAMILIES, name) ? FAMILIES[name] : undefined;
  if (name === "diff" || name === "patch") return code.split("\n").map((line) => diffLine(line, style));
  if (family === undefined || code.length > MAX_CHARACTERS) return code.split("\n").map((line) => style("code", line));
  const isSql = family.keywords === SQL;
  const pattern = new RegExp(
    String.raw`(?<comment>${family.comment})|(?<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|${"`(?:[^`\\\\]|\\\\.)*`"})|(?<number>\b\d[\d_.]*(?:[eE][+-]?\d+)?\b)|(?<word>[A-Za-z_$][\w$]*)`,
    "g",
  );
  let shown = "";
  let end = 0;
  for (const match of code.matchAll(pattern)) {
    shown += code.slice(end, match.index) + token(match, family, isSql, style);
    end = match.index + match[0].length;
  }
  return (shown + code.slice(end)).split("\n");
}

function token(
  match: RegExpExecArray,
  { keywords }: Family,
  isSql: boolean,
  style: (role: Role, text: string) => string,
): string {
  const [text] = match;
  const { comment, string, number } = match.groups ?? {};
  if (comment !== undefined) return style("comment", text);
  if (string !== undefined) return style("string", text);
  if (number !== undefined) return style("number", text);
  return keywords.has(isSql ? text.toLowerCase() : text) ? style("keyword", text) : text;
}

function diffLine(line: string, style: (role: Role, text: string) => string): string {
  if (line.startsWith("+")) return style("added", line);
  if (line.startsWith("-")) return style("removed", line);
  return line.startsWith("@@") ? style("accent", line) : line;
}
