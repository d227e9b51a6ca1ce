/** Text or thoughts of an answer while they arrive. Private to the decoder, which hands out the parts when they end. */

import type { Part } from "@capstan/core";
import { sealOf, type Signed } from "./signature.ts";

export type OpenText = {
  /** Its place among the blocks of the message. */
  readonly index: number;
  readonly kind: "text" | "reasoning";
  text: string;
};

/** The whole part. A thought keeps its signature; that of a text is a part behind it. */
export function endText({ kind, text }: OpenText, modelId: string, signed: Signed | undefined): Part {
  if (kind === "text") return { type: "text", text };
  if (signed === undefined) return { type: "reasoning", text };
  return { type: "reasoning", text, seal: sealOf(signed, modelId) };
}
