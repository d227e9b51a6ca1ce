/** Globs over the names of a path: read once, then matched name by name in time that is the product of both lengths. */

type Token = "one" | "many" | { readonly literal: string };
/** A glob of one name, with what every name that fits begins and ends with. */
type NameGlob = {
  readonly tokens: readonly Token[];
  readonly start: string;
  readonly end: string;
  /** Nothing but `start`. */
  readonly isLiteral: boolean;
};
const SEPARATORS = "/\\";
/** Holds the empty text of a path's end too. */
const DROPPED = `${SEPARATORS}.: `;
type Segment = "deep" | NameGlob;
export type Glob = readonly Segment[];

/** Reads `*`, `?`, `**`, `\` before a literal character. Throws with what is wrong. */
export function parseGlob(text: string): Glob {
  const glob: Segment[] = [];
  for (const part of text.split("/")) {
    if (part === "" || part === ".") continue;
    if (part === "..") throw new Error('a pattern cannot go up with ".."; write the absolute path');
    if (part !== "**") glob.push(nameGlob(tokens(part)));
    else if (glob.at(-1) !== "deep") glob.push("deep");
  }
  return glob;
}

/** The glob with its literal text changed by `fold`. */
export function foldedGlob(glob: Glob, fold: (text: string) => string): Glob {
  return glob.map((segment) => (segment === "deep" ? segment : nameGlob(foldedTokens(segment.tokens, fold))));
}

/** Whether the glob ends exactly where the path does. `below`: a last `**` stands for at least one name. */
export function ends(glob: Glob, path: readonly string[], below: boolean): boolean {
  if (!mayFit(glob, path)) return false;
  return reached(below && glob.at(-1) === "deep" ? [...glob, ANY_NAME] : glob, path).has(
    glob.length + (below && glob.at(-1) === "deep" ? 1 : 0),
  );
}

/** Whether the glob ends at the path or at a folder it lies in. */
export function startsWith(glob: Glob, path: readonly string[]): boolean {
  return mayFit(glob, path) && reached([...glob, "deep"], path).has(glob.length + 1);
}

/** Whether something below the path could fit: the path is a folder on the way to it. */
export function leadsTo(glob: Glob, path: readonly string[]): boolean {
  const [first] = glob;
  if (first !== "deep" && first !== undefined && path[0] !== undefined && !fits(first, path[0])) return false;
  return [...reached(glob, path)].some((at) => at < glob.length);
}

/** Text of a name, and whether it is where the name starts and where it ends. */
export type NeededText = { readonly text: string; readonly starts: boolean; readonly ends: boolean };

/** What stands in every path that fits, and in every folder that leads to one but the one where the glob begins. */
export function neededText(glob: Glob): NeededText {
  const [first] = glob;
  const names = first === undefined || first === "deep" ? glob.filter((segment) => isName(segment)) : [first];
  const texts = names.flatMap(({ start, end, isLiteral }) => [
    { text: start, starts: true, ends: isLiteral },
    { text: end, starts: isLiteral, ends: true },
  ]);
  const none: NeededText = { text: "", starts: false, ends: false };
  return texts.reduce((longest, one) => (one.text.length > longest.text.length ? one : longest), none);
}

/** Whether some name of a path in lower case has the text, be there what systems drop behind it: dots, blanks, a stream. */
export function hasNeeded({ text, starts, ends }: NeededText, path: string): boolean {
  for (let at = path.indexOf(text); at >= 0 && text !== ""; at = path.indexOf(text, at + 1)) {
    const isStart = !starts || at === 0 || SEPARATORS.includes(path.charAt(at - 1));
    if (isStart && (!ends || DROPPED.includes(path.charAt(at + text.length)))) return true;
  }
  return text === "";
}

/** Whether the path has a name that the glob cannot do without: most paths end here. */
function mayFit(glob: Glob, path: readonly string[]): boolean {
  const [first] = glob;
  if (first === undefined) return true;
  if (first !== "deep") return path[0] !== undefined && fits(first, path[0]);
  const needed = glob.find((segment) => segment !== "deep" && segment.isLiteral) ?? glob.find(isName);
  return needed === undefined || path.some((name) => fits(needed, name));
}

function isName(segment: Segment): segment is NameGlob {
  return segment !== "deep";
}

function tokens(part: string): readonly Token[] {
  const found: Token[] = [];
  const characters = Array.from(part);
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? "";
    if (character === "*") {
      if (found.at(-1) !== "many") found.push("many");
    } else if (character === "?") found.push("one");
    else if (character === "[" || character === "]") {
      throw new Error("sets of characters are not supported; write \\[ and \\] for brackets in a name");
    } else if (character !== "\\") found.push({ literal: character });
    else found.push({ literal: characters[++at] ?? "\\" });
  }
  return found;
}

function foldedTokens(given: readonly Token[], fold: (text: string) => string): readonly Token[] {
  const found: Token[] = [];
  let literal = "";
  for (const token of [...given, undefined]) {
    if (typeof token === "object") {
      literal += token.literal;
      continue;
    }
    found.push(...Array.from(fold(literal), (character) => ({ literal: character })));
    literal = "";
    if (token !== undefined) found.push(token);
  }
  return found;
}

function nameGlob(given: readonly Token[]): NameGlob {
  const before = given.findIndex((token) => typeof token !== "object");
  const after = given.findLastIndex((token) => typeof token !== "object");
  const start = textOf(before === -1 ? given : given.slice(0, before));
  return { tokens: given, start, end: textOf(given.slice(after + 1)), isLiteral: before === -1 };
}

function textOf(given: readonly Token[]): string {
  return given.map((token) => (typeof token === "object" ? token.literal : "")).join("");
}

const ANY_NAME: NameGlob = nameGlob(["many"]);

function fits(segment: Segment, name: string): boolean {
  if (segment === "deep") return false;
  if (segment.isLiteral) return name === segment.start;
  if (!name.startsWith(segment.start) || !name.endsWith(segment.end)) return false;
  return positions(segment.tokens, Array.from(name), isMany, isCharacter).has(segment.tokens.length);
}

/** Positions in the glob that can be reached by reading the whole path. */
function reached(glob: Glob, path: readonly string[]): ReadonlySet<number> {
  return positions(glob, path, isDeep, fits);
}

function isDeep(segment: Segment): boolean {
  return segment === "deep";
}

function isMany(token: Token): boolean {
  return token === "many";
}

function isCharacter(token: Token, character: string): boolean {
  return token === "one" || (typeof token === "object" && token.literal === character);
}

function positions<Step, Item>(
  steps: readonly Step[],
  items: readonly Item[],
  repeats: (step: Step) => boolean,
  fitsAt: (step: Step, item: Item) => boolean,
): ReadonlySet<number> {
  let current = new Set<number>();
  enter(0, current);
  for (const item of items) {
    if (current.size === 0) return current;
    const next = new Set<number>();
    for (const at of current) {
      const step = steps[at];
      if (step === undefined) continue;
      if (repeats(step)) enter(at, next);
      else if (fitsAt(step, item)) enter(at + 1, next);
    }
    current = next;
  }
  return current;

  /** A step that repeats may also stand for nothing. */
  function enter(at: number, into: Set<number>): void {
    into.add(at);
    const step = steps[at];
    if (step !== undefined && repeats(step)) enter(at + 1, into);
  }
}
