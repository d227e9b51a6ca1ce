/** A simulation of Anthropic's prompt cache: prefixes of blocks, written at breakpoints, found by looking back from them. */

import { createHash } from "node:crypto";

/** Blocks before a breakpoint that the provider looks at for a cached prefix, the breakpoint's own included. */
export const LOOK_BACK_BLOCKS = 20;

export type CacheBlock = {
  /** What identifies the block, without its marker. */
  readonly text: string;
  readonly tokens: number;
  readonly breakpoint: boolean;
};
export type CacheUse = { readonly input: number; readonly read: number; readonly written: number };

export interface PromptCache {
  /** Tokens of one request by how they are charged; remembers what the request writes. */
  use(blocks: readonly CacheBlock[]): CacheUse;
}

/** Nothing expires and nothing is too short to be cached. */
export function promptCache(): PromptCache {
  const written = new Set<string>();
  return {
    use(blocks) {
      const prefixes = prefixHashes(blocks);
      const ends = blocks.flatMap((block, index) => (block.breakpoint ? [index] : []));
      const hit = Math.max(-1, ...ends.map((end) => longestHit(prefixes, end, written)));
      const last = ends.at(-1) ?? -1;
      for (const end of ends) written.add(prefixes[end] ?? "");
      const tokens = (from: number, to: number): number =>
        blocks.slice(from, to).reduce((sum, block) => sum + block.tokens, 0);
      return {
        read: tokens(0, hit + 1),
        written: tokens(hit + 1, last + 1),
        input: tokens(Math.max(hit, last) + 1, blocks.length),
      };
    },
  };
}

/** What a use costs in tokens of uncached input: written at 1.25, read at 0.1. */
export function inputBill(use: CacheUse): number {
  return use.input + use.written * 1.25 + use.read * 0.1;
}

export type Bill = { readonly bill: number; readonly ideal: number };

/**
 * What the requests cost, and the ideal: each token is written once, with the first request that holds it after the same
 * prefix, and read ever after. `blocksOf` cuts a body as the cache of the requests did.
 */
export function billOf(
  requests: readonly { readonly body: { readonly [name: string]: unknown }; readonly cache?: CacheUse }[],
  blocksOf: (body: { readonly [name: string]: unknown }) => readonly CacheBlock[],
): Bill {
  const seen = new Set<string>();
  let ideal = 0;
  let bill = 0;
  for (const { body, cache } of requests) {
    const blocks = blocksOf(body);
    for (const [index, prefix] of prefixHashes(blocks).entries()) {
      const tokens = blocks[index]?.tokens ?? 0;
      ideal += inputBill(seen.has(prefix) ? { ...NOTHING, read: tokens } : { ...NOTHING, written: tokens });
      seen.add(prefix);
    }
    bill += cache === undefined ? Infinity : inputBill(cache);
  }
  return { bill, ideal };
}

const NOTHING: CacheUse = { input: 0, read: 0, written: 0 };

export function billRatio(...given: Parameters<typeof billOf>): number {
  const { bill, ideal } = billOf(...given);
  return bill / ideal;
}

function prefixHashes(blocks: readonly CacheBlock[]): readonly string[] {
  const hash = createHash("sha256");
  return blocks.map((block) => {
    hash.update(`${block.text.length}:${block.text}`);
    return hash.copy().digest("base64");
  });
}

function longestHit(prefixes: readonly string[], end: number, written: ReadonlySet<string>): number {
  for (let index = end; index >= 0 && index > end - LOOK_BACK_BLOCKS; index--) {
    if (written.has(prefixes[index] ?? "")) return index;
  }
  return -1;
}
