/** The embedder port: texts to vectors, by a model elsewhere; and the check of what it gave. */

import { CapstanError } from "@capstan/core";
import { MEMORY_LIMITS as LIMITS } from "./limits.ts";

export type EmbedOptions = {
  /** Some models embed a question otherwise than what is to be found. */
  readonly as: "passage" | "query";
  readonly signal: AbortSignal;
};

export type Embedder = {
  /** Stored with every vector: vectors of different ids are never compared. */
  readonly id: string;
  /** Cosine below which two texts have nothing in common, by this model. Default 0.3. */
  readonly leastSimilarity?: number;
  /** One vector a text, in their order, all of one length. At most `MEMORY_LIMITS.embedBatch` texts are given. */
  embed(texts: readonly string[], options: EmbedOptions): Promise<readonly ArrayLike<number>[]>;
};

/** Vectors of length 1. Throws `model-protocol` for anything else than one usable vector a text. */
export async function embedAll(
  embedder: Embedder,
  texts: readonly string[],
  options: EmbedOptions,
): Promise<readonly Float32Array[]> {
  const given: unknown = await embedder.embed(texts, options);
  const vectors = Array.isArray(given) ? given.map(toVector) : [];
  const [first] = vectors;
  const isWhole = vectors.length === texts.length && vectors.every((vector) => vector?.length === first?.length);
  const whole = vectors.filter((vector) => vector !== undefined);
  if (!isWhole || whole.length !== texts.length) {
    throw new CapstanError(
      "model-protocol",
      `${embedder.id} did not give one usable vector for each of ${texts.length} texts`,
      { provider: embedder.id },
    );
  }
  return whole;
}

/** Scaled to length 1; undefined when it has no direction. */
function toVector(given: unknown): Float32Array | undefined {
  if (!Array.isArray(given) && !ArrayBuffer.isView(given)) return undefined;
  const numbers = given as unknown as ArrayLike<unknown>; // what is in it is looked at below
  if (numbers.length === 0 || numbers.length > LIMITS.dimensions) return undefined;
  const vector = Float32Array.from(numbers, Number);
  const length = Math.hypot(...vector);
  if (!Number.isFinite(length) || length === 0) return undefined;
  return vector.map((value) => value / length);
}
