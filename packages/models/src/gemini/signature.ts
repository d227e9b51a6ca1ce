/** Thought signatures: kept in seals with the piece of the answer they came with, given back by the model that gave them. */

import type { Json, Part, Seal } from "@capstan/core";
import { memberOf } from "../provider/json.ts";

export const GEMINI = { id: "gemini", label: "Gemini" } as const;

export type Signed = {
  readonly signature: string;
  /** UTF-16 units of text that it came with: the end of its part. */
  readonly tail: number;
  /** It came with the file before it. */
  readonly of?: "file";
};

/** What goes back to this model only. */
export function sealOf(data: { readonly [name: string]: Json }, modelId: string): Seal {
  return { provider: GEMINI.id, data: { ...data, model: modelId } };
}

/** Stands right behind the text or file whose signature it is, or alone where the signature came with nothing. */
export function signaturePart(modelId: string, signed: Signed): Part {
  return { type: "opaque", seal: sealOf(signed, modelId) };
}

export function isOwn(seal: Seal, modelId: string): boolean {
  return seal.provider === GEMINI.id && memberOf(seal.data, "model") === modelId;
}

/** The signature that a seal holds, when this model gave it. */
export function signatureOf(seal: Seal, modelId: string): Signed | undefined {
  if (!isOwn(seal, modelId)) return undefined;
  const signature = memberOf(seal.data, "signature");
  const tail = memberOf(seal.data, "tail");
  if (typeof signature !== "string" || signature === "") return undefined;
  const of = memberOf(seal.data, "of") === "file" ? ({ of: "file" } as const) : {};
  return { signature, tail: typeof tail === "number" ? tail : 0, ...of };
}
