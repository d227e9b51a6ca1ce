/** What a measure is: cases that are repeated in turn, and the rows that their numbers make. */

import type { Order } from "./child.ts";
import type { Numbers } from "./world.ts";

export type Bench = {
  /** Where the loopback model listens. */
  readonly url: string;
  /** Removed at the end of the benchmark. */
  readonly folder: string;
};
/** One repetition of one case, in processes of its own. */
export type Case = (bench: Bench) => Promise<Numbers>;

export type Spread = { readonly median: number; readonly min: number; readonly max: number };
/** The numbers of a case over all repetitions. Throws the case's error when it failed. */
export type Results = (name: string, number: string) => Spread;

export type Row = {
  readonly measure: string;
  readonly floor?: Spread;
  readonly capstan?: Spread;
  /** Of the numbers in `floor` and `capstan`. */
  readonly unit: string;
  /** What the target is about: a ratio, or a value in `valueUnit`. */
  readonly value?: number;
  readonly valueUnit?: string;
  readonly target?: number;
  readonly stretch?: number;
  readonly note?: string;
};

export type Measure = {
  readonly name: string;
  readonly cases: { readonly [name: string]: Case };
  /** Fixed results need no repetition. */
  readonly once?: boolean;
  prepare?(bench: Bench): Promise<void>;
  rows(results: Results): readonly Row[];
  /** The order that `--profile` runs. */
  readonly profile?: Omit<Order, "url">;
};

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low = Number.NaN, high = Number.NaN] = [sorted[(sorted.length - 1) >> 1], sorted[middle]];
  return { median: (low + high) / 2, min: sorted[0] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN };
}

export function verdictOf({ value, target, stretch }: Row): "pass" | "short" | "stretch" | "info" {
  if (target === undefined || value === undefined) return "info";
  if (stretch !== undefined && value <= stretch && stretch < target) return "stretch";
  return value <= target ? "pass" : "short";
}
