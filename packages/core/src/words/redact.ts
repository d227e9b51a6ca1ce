/** Keeps registered secrets out of everything that is stored, shown or sent (G23): one function for text, JSON and streams. */

import { isArray, type Json } from "./json.ts";

export type Redactor = {
  /** False while no secret is registered: callers may skip their work. */
  readonly active: boolean;
  text(value: string): string;
  /** The same object when nothing was found; otherwise a copy of what had to change. Keys are redacted too, numbers are not. */
  json<T extends Json>(value: T): T;
  /** A text that comes in pieces: what `push` and `end` return, joined, is `text` of the whole. */
  stream(): RedactorStream;
  /** Takes effect for all that comes later, also in streams that are open. */
  add(secret: string): void;
};
type RedactorStream = {
  /** Holds back an end that could be the beginning of a secret. */
  push(delta: string): string;
  /** What was held back. The stream may be used again afterwards. */
  end(): string;
};

export const REDACTED = "[secret]";
/** Shorter ones would take ordinary words out of every text. */
const MIN_LENGTH = 6;
/** Lines of a secret of several lines (a private key) count by themselves from this length on. */
const MIN_LINE = 16;

/** Secrets of fewer than 6 characters are ignored. Base64 and URL-encoded forms are found too. */
export function redactor(secrets: readonly string[]): Redactor {
  const forms = new Set<string>();
  let matcher: Matcher | undefined;
  const add = (secret: string): void => {
    for (const form of formsOf(secret)) forms.add(form);
    if (forms.size > 0) matcher = matcherOf([...forms]);
  };
  for (const secret of secrets) add(secret);
  const text = (value: string): string =>
    matcher === undefined || value.length < matcher.shortest ? value : value.replace(matcher.pattern, REDACTED);
  return {
    get active() {
      return matcher !== undefined;
    },
    text,
    // what comes back has the shape that came in: only texts differ
    json: <T extends Json>(value: T): T => (matcher === undefined ? value : (redactJson(value, text) as T)),
    stream: () => redactStream(() => matcher),
    add,
  };
}

type Matcher = {
  /** Longest forms first, so that the first that fits is the longest. */
  readonly pattern: RegExp;
  readonly forms: readonly string[];
  readonly firsts: ReadonlySet<string>;
  readonly longest: number;
  /** A text below this length holds no secret: most texts of a log are names and ids. */
  readonly shortest: number;
};

function matcherOf(unsorted: readonly string[]): Matcher {
  const forms = unsorted.toSorted((left, right) => right.length - left.length);
  return {
    pattern: new RegExp(forms.map((form) => form.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|"), "g"),
    forms,
    firsts: new Set(forms.map((form) => form.charAt(0))),
    longest: forms[0]?.length ?? 0,
    shortest: forms.at(-1)?.length ?? 0,
  };
}

function redactStream(current: () => Matcher | undefined): RedactorStream {
  let held = "";
  return {
    push(delta) {
      const matcher = current();
      if (matcher === undefined) return delta;
      const { shown, rest } = split(held + delta, matcher);
      held = rest;
      return shown;
    },
    end() {
      const matcher = current();
      const shown = matcher === undefined ? held : held.replace(matcher.pattern, REDACTED);
      held = "";
      return shown;
    },
  };
}

/** What can be shown for certain, and the rest, which begins where a secret may begin that is not complete yet. */
function split(buffer: string, matcher: Matcher): { readonly shown: string; readonly rest: string } {
  let shown = "";
  let at = 0;
  const { pattern } = matcher;
  for (;;) {
    const hold = holdFrom(buffer, at, matcher);
    pattern.lastIndex = at;
    const found = pattern.exec(buffer);
    if (found === null || found.index >= hold)
      return { shown: shown + buffer.slice(at, hold), rest: buffer.slice(hold) };
    shown += buffer.slice(at, found.index) + REDACTED;
    at = found.index + found[0].length;
  }
}

/** The first place whose text up to the end is the beginning, but not the whole, of a form. */
function holdFrom(buffer: string, from: number, { forms, firsts, longest }: Matcher): number {
  for (let at = Math.max(from, buffer.length - longest + 1); at < buffer.length; at++) {
    if (!firsts.has(buffer.charAt(at))) continue;
    const tail = buffer.slice(at);
    if (forms.some((form) => form.length > tail.length && form.startsWith(tail))) return at;
  }
  return buffer.length;
}

/** Copies only what changes: almost nothing ever does. */
function redactJson(value: Json, text: (value: string) => string): Json {
  if (typeof value === "string") return text(value);
  if (value === null || typeof value !== "object") return value;
  return isArray(value) ? redactItems(value, text) : redactMembers(value, text);
}

function redactItems(items: readonly Json[], text: (value: string) => string): Json {
  let copy: Json[] | undefined;
  for (const [at, item] of items.entries()) {
    const clean = redactJson(item, text);
    if (copy !== undefined) copy.push(clean);
    else if (clean !== item) copy = [...items.slice(0, at), clean];
  }
  return copy ?? items;
}

function redactMembers(value: { readonly [key: string]: Json }, text: (value: string) => string): Json {
  const names = Object.keys(value);
  let copy: [string, Json][] | undefined;
  for (let at = 0; at < names.length; at++) {
    const name = names[at] as string; // within bounds
    const member = value[name] as Json; // one of its own
    const [cleanName, clean] = [text(name), redactJson(member, text)];
    if (copy !== undefined) copy.push([cleanName, clean]);
    else if (clean !== member || cleanName !== name) {
      copy = names.slice(0, at).map((before) => [before, value[before] as Json]); // its own too
      copy.push([cleanName, clean]);
    }
  }
  return copy === undefined ? value : Object.fromEntries(copy);
}

/** Every text that gives the secret away: itself, without blanks around it, its lines, inside JSON, URLs and base64. */
function formsOf(secret: string): readonly string[] {
  const whole = secret.toWellFormed();
  const lines = whole.split(/\r?\n/).filter((line) => line.trim().length >= MIN_LINE && !line.startsWith("-----"));
  const plain = [secret, whole.trim(), ...(whole.trim().includes("\n") ? lines.map((line) => line.trim()) : [])];
  return plain
    .filter((text) => text.length >= MIN_LENGTH && text.trim() !== "")
    .flatMap((text) => [
      text,
      JSON.stringify(text).slice(1, -1),
      ...urlForms(text.toWellFormed()),
      ...base64Forms(text),
    ])
    .filter((form) => form.length >= MIN_LENGTH);
}

function urlForms(text: string): readonly string[] {
  const encoded = encodeURIComponent(text);
  const strict = encoded.replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
  return [encoded, strict].flatMap((form) => {
    const lowered = form.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
    return [form, lowered, form.replaceAll("%20", "+"), lowered.replaceAll("%20", "+")];
  });
}

/** Whole, and as the middle of a longer encoded text: what all texts share that hold the secret at one of three offsets. */
function base64Forms(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  const whole = bytes.toString("base64");
  const forms = [whole, whole.replace(/=+$/, "")];
  for (const offset of [0, 1, 2]) {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
    const end = Math.floor(((offset + bytes.length) * 8) / 6);
    forms.push(encoded.slice(Math.ceil((offset * 8) / 6), end));
  }
  return forms.flatMap((form) => [form, form.replaceAll("+", "-").replaceAll("/", "_"), encodeURIComponent(form)]);
}
