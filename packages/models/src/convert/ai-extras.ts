/** Parts that only the AI SDK's own formats can say, kept whole: whether one is as the AI SDK would accept it. Pure. */

import type { Json } from "@capstan/core";
import { isObject, memberOf, stringOf } from "../provider/json.ts";

/** State of a provider: `{ anthropic: { signature: "..." } }`. */
export function isMetadata(metadata: Json | undefined): boolean {
  return isObject(metadata) && Object.values(metadata).every((state) => isObject(state));
}

/** A part of a `UIMessage`: data, custom content, a file of reasoning, a finished call of a tool that the provider runs. */
export function isUiExtra(part: Json): boolean {
  if (!isObject(part) || !hasGoodMetadata(part)) return false;
  const { type, kind, mediaType, url, state, toolCallId, toolName, errorText } = part;
  const name = stringOf(type);
  if (name.startsWith("data-")) return part["data"] !== undefined;
  if (name === "custom") return isKind(kind);
  if (name === "reasoning-file") return typeof mediaType === "string" && typeof url === "string";
  if (name !== "dynamic-tool" && !name.startsWith("tool-")) return false;
  if (typeof toolCallId !== "string" || (name === "dynamic-tool" && typeof toolName !== "string")) return false;
  if (part["providerExecuted"] !== true || part["input"] === undefined || part["approval"] !== undefined) return false;
  return state === "output-available"
    ? part["output"] !== undefined
    : state === "output-error" && typeof errorText === "string";
}

/** A part of a `ModelMessage`: custom content, a file of reasoning, a call of a tool that the provider runs and its result. */
export function isModelExtra(part: Json): boolean {
  if (!isObject(part) || !hasGoodMetadata(part)) return false;
  const { type, kind, mediaType, data, toolCallId, toolName, output } = part;
  const named = typeof toolCallId === "string" && typeof toolName === "string";
  switch (type) {
    case "custom":
      return isKind(kind);
    case "reasoning-file":
      return typeof mediaType === "string" && typeof data === "string";
    case "tool-call":
      return named && part["providerExecuted"] === true && part["input"] !== undefined;
    case "tool-result":
      return named && isOutput(output);
    default:
      return false;
  }
}

function hasGoodMetadata(part: { readonly [name: string]: Json }): boolean {
  const names = ["providerOptions", "providerMetadata", "callProviderMetadata", "resultProviderMetadata"];
  return names.every((name) => part[name] === undefined || isMetadata(part[name]));
}

function isKind(kind: Json | undefined): boolean {
  return typeof kind === "string" && kind.includes(".");
}

function isOutput(output: Json | undefined): boolean {
  const [type, value] = [memberOf(output, "type"), memberOf(output, "value")];
  if (memberOf(output, "providerOptions") !== undefined) return false;
  if (type === "text" || type === "error-text") return typeof value === "string";
  return (type === "json" || type === "error-json") && value !== undefined;
}
