/** Keeps personal data from the model: masked or refused in inputs, masked or labelled in what tools return. */

import {
  CapstanError,
  isArray,
  type Json,
  type Message,
  type Plugin,
  plugin,
  textOf,
  type ToolOutput,
} from "@capstan/core";
import { namePatterns } from "../name-pattern.ts";
import { findPii, maskPii, PII_KINDS, type PiiKind, type PiiPattern } from "./find-pii.ts";

export { findPii, maskPii, PII_KINDS, type Pii, type PiiKind, type PiiPattern } from "./find-pii.ts";

export type PiiOptions = {
  /** Default all of `PII_KINDS`. */
  readonly kinds?: readonly PiiKind[];
  readonly patterns?: readonly PiiPattern[];
  /** What people send. Default "mask". */
  readonly inputs?: "mask" | "refuse" | "ignore";
  /** What tools return. "label" keeps it and labels it `pii`, for `taint`. Default "mask". */
  readonly results?: "mask" | "label" | "ignore";
  /** Tools whose results are looked at, `*` for any characters. Default all. */
  readonly tools?: readonly string[];
};

/** The label of a result that holds personal data. */
export const PII_LABEL = "pii";

/** By form only: a name, an address or a story passes. Throws `plugin-invalid`. */
export function pii(options: PiiOptions = {}): Plugin {
  const { kinds = PII_KINDS, patterns = [], inputs = "mask", results = "mask", tools = ["*"] } = options;
  const unknown = kinds.find((kind) => !PII_KINDS.includes(kind));
  if (unknown !== undefined) throw invalid(`there is no kind ${JSON.stringify(unknown)}`);
  if (patterns.some(({ name }) => !/^[\w-]{1,40}$/.test(name)))
    throw invalid("a pattern's name is letters, digits and -");
  const mask = (text: string): string => maskPii(text, kinds, patterns);
  const isWatched = namePatterns(tools);
  return plugin({
    name: "pii",
    input(message, context, next) {
      if (inputs === "ignore") return next(message);
      if (inputs === "mask") return next(maskedMessage(message, mask));
      const found = [...new Set(findPii(textOf(message.parts), kinds, patterns).map(({ kind }) => kind))];
      if (found.length === 0) return next(message);
      return context.refuse(`The input holds personal data (${found.join(", ")}); send it without`);
    },
    async tool(call, _context, next) {
      const output = await next(call);
      if (results === "ignore" || !isWatched(call.name)) return output;
      const masked = maskedOutput(output, mask);
      if (masked === output) return output;
      return results === "mask" ? masked : { ...output, labels: [...new Set([...(output.labels ?? []), PII_LABEL])] };
    },
  });
}

type Mask = (text: string) => string;

function maskedMessage(message: Message, mask: Mask): Message {
  const parts = message.parts.map((part) => (part.type === "text" ? { ...part, text: mask(part.text) } : part));
  return { ...message, parts };
}

/** The same object when nothing was found. */
function maskedOutput(output: ToolOutput, mask: Mask): ToolOutput {
  const { content, output: value, ...rest } = output;
  const masked: ToolOutput = {
    ...rest,
    content: maskedJson(content as unknown as Json, mask) as unknown as ToolOutput["content"], // the same shape
    ...(value !== undefined && { output: maskedJson(value, mask) }),
  };
  return JSON.stringify(masked.content) === JSON.stringify(content) &&
    JSON.stringify(masked.output) === JSON.stringify(value)
    ? output
    : masked;
}

/** Bytes of files are left as they are. */
function maskedJson(value: Json, mask: Mask): Json {
  if (typeof value === "string") return mask(value);
  if (typeof value !== "object" || value === null) return value;
  if (isArray(value)) return value.map((item) => maskedJson(item, mask));
  if (value["type"] === "file") return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [mask(key), maskedJson(item, mask)]));
}

function invalid(what: string): CapstanError {
  return new CapstanError("plugin-invalid", `pii: ${what}`);
}
