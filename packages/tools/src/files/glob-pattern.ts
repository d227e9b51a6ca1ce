/**
 * Matches paths against a glob in time bounded by the product of their lengths, whatever the pattern: patterns come
 * from a model, and those of the usual libraries become regular expressions that can be made to run for ever.
 */

import { TOOL_LIMITS } from "../tool-limits.ts";

export type GlobPattern = { readonly matches: (path: string) => boolean };

type Token =
  | { readonly type: "literal"; readonly character: string }
  | { readonly type: "any" }
  | { readonly type: "star" }
  | { readonly type: "class"; readonly negated: boolean; readonly ranges: readonly (readonly [string, string])[] };
type Segment = { readonly type: "folders" } | { readonly type: "name"; readonly tokens: readonly Token[] };

/**
 * `*`, `?`, `[a-z]`, `[!a]`, `{a,b}`, `\` and `**` between slashes. A pattern without a slash matches the name in
 * every folder, `./name` only at the top. Paths are relative, with `/`. Returns what is wrong as a string.
 */
export function parseGlob(pattern: string): GlobPattern | string {
  if (pattern.length > TOOL_LIMITS.globCharacters)
    return `The pattern is longer than ${TOOL_LIMITS.globCharacters} characters.`;
  const plain = pattern.replace(/^(?:\.\/)+/, "");
  if (plain === "") return "The pattern is empty.";
  if (plain.startsWith("/"))
    return "The pattern is relative to the folder that is searched: leave out the first slash, or set path.";
  if (plain.split("/").includes("..")) return "The pattern cannot leave the folder that is searched: set path.";
  const alternatives = expandBraces(plain);
  if (alternatives === undefined)
    return `The braces of the pattern give more than ${TOOL_LIMITS.globAlternatives} alternatives.`;
  const anchored = plain !== pattern;
  const parsed = alternatives.map((one) => segmentsOf(one, anchored));
  return { matches: (path) => parsed.some((segments) => matchSegments(segments, path.split("/"))) };
}

/** Every choice of the braces, or undefined when there are too many. Braces that are not closed stand for themselves. */
function expandBraces(pattern: string): readonly string[] | undefined {
  const waiting = [pattern];
  const done: string[] = [];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const group = firstGroup(next);
    if (group === undefined) done.push(next);
    else for (const choice of group.choices) waiting.push(group.before + choice + group.after);
    if (done.length + waiting.length > TOOL_LIMITS.globAlternatives) return undefined;
  }
  return done;
}

/** The first closed brace group with a comma at its level. */
function firstGroup(pattern: string) {
  for (let open = 0; open < pattern.length; open += 1) {
    if (pattern[open] === "\\") open += 1;
    else if (pattern[open] === "{") {
      const group = groupFrom(pattern, open);
      if (group !== undefined) return group;
    }
  }
  return undefined;
}

function groupFrom(pattern: string, open: number) {
  const commas: number[] = [];
  let depth = 0;
  for (let index = open; index < pattern.length; index += 1) {
    const character = pattern[index];
    if (character === "\\") index += 1;
    else if (character === "{") depth += 1;
    else if (character === "," && depth === 1) commas.push(index);
    else if (character === "}" && (depth -= 1) === 0) {
      if (commas.length === 0) return undefined;
      const edges = [open, ...commas, index];
      const choices = edges.slice(1).map((edge, at) => pattern.slice((edges[at] ?? 0) + 1, edge));
      return { before: pattern.slice(0, open), choices, after: pattern.slice(index + 1) };
    }
  }
  return undefined;
}

function segmentsOf(pattern: string, anchored: boolean): readonly Segment[] {
  const names = pattern.split("/").filter((name) => name !== "" && name !== ".");
  const segments = names.map((name): Segment =>
    name === "**" ? { type: "folders" } : { type: "name", tokens: tokensOf(name) },
  );
  const below: readonly Segment[] = names.at(-1) === "**" ? [{ type: "name", tokens: [{ type: "star" }] }] : []; // `a/**` is not `a`
  const deep: readonly Segment[] = !anchored && !pattern.includes("/") ? [{ type: "folders" }] : [];
  return [...deep, ...segments, ...below];
}

function tokensOf(name: string): readonly Token[] {
  const tokens: Token[] = [];
  const characters = Array.from(name); // by code point: `?` takes an emoji whole
  for (let index = 0; index < characters.length; index += 1) {
    const character = characters[index] ?? "";
    if (character === "*") {
      if (tokens.at(-1)?.type !== "star") tokens.push({ type: "star" });
    } else if (character === "?") {
      tokens.push({ type: "any" });
    } else if (character === "[" && characters.indexOf("]", index + 2) !== -1) {
      const negated = characters[index + 1] === "!" || characters[index + 1] === "^";
      const start = index + (negated ? 2 : 1);
      const end = characters.indexOf("]", start + 1);
      if (end === -1) {
        tokens.push({ type: "literal", character });
        continue;
      }
      tokens.push({ type: "class", negated, ranges: rangesOf(characters.slice(start, end)) });
      index = end;
    } else if (character === "\\" && index + 1 < characters.length) {
      index += 1;
      tokens.push({ type: "literal", character: characters[index] ?? "" });
    } else {
      tokens.push({ type: "literal", character });
    }
  }
  return tokens;
}

function rangesOf(characters: readonly string[]): (readonly [string, string])[] {
  const ranges: (readonly [string, string])[] = [];
  for (let index = 0; index < characters.length; index += 1) {
    const from = characters[index] ?? "";
    const to = characters[index + 2];
    if (characters[index + 1] === "-" && to !== undefined) {
      ranges.push([from, to]);
      index += 2;
    } else {
      ranges.push([from, from]);
    }
  }
  return ranges;
}

/** Keeps the set of segments that may come next: one pass over the path. */
function matchSegments(segments: readonly Segment[], names: readonly string[]): boolean {
  let open = closure(segments, new Set([0]));
  for (const name of names) {
    const next = new Set<number>();
    for (const index of open) {
      const segment = segments[index];
      if (segment === undefined) continue;
      if (segment.type === "folders") next.add(index);
      else if (matchName(segment.tokens, name)) next.add(index + 1);
    }
    if (next.size === 0) return false;
    open = closure(segments, next);
  }
  return open.has(segments.length);
}

function closure(segments: readonly Segment[], open: Set<number>): Set<number> {
  for (const index of open) if (segments[index]?.type === "folders") open.add(index + 1); // a set yields what is added meanwhile
  return open;
}

/** The classic walk with one point to return to: the last star. */
function matchName(tokens: readonly Token[], name: string): boolean {
  const characters = Array.from(name); // by code point: `?` takes an emoji whole
  let token = 0;
  let at = 0;
  let star = -1;
  let starAt = 0;
  while (at < characters.length) {
    const current = tokens[token];
    if (current?.type === "star") {
      star = token;
      starAt = at;
      token += 1;
    } else if (current !== undefined && accepts(current, characters[at] ?? "")) {
      token += 1;
      at += 1;
    } else if (star !== -1) {
      token = star + 1;
      starAt += 1;
      at = starAt;
    } else {
      return false;
    }
  }
  return tokens.slice(token).every(({ type }) => type === "star");
}

function accepts(token: Token, character: string): boolean {
  switch (token.type) {
    case "literal":
      return token.character === character;
    case "any":
      return true;
    case "star":
      return false;
    case "class":
      return token.ranges.some(([from, to]) => from <= character && character <= to) !== token.negated;
    default:
      return token satisfies never;
  }
}
