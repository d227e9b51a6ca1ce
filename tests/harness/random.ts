/** Chance that can be repeated: numbers from a seed. */

export interface Random {
  /** A whole number from `from` to `to`, both included. */
  int(from: number, to: number): number;
  chance(share: number): boolean;
  pick<T>(items: readonly T[]): T;
}

/** Mulberry32: small, fast, good enough to scatter kills. */
export function random(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const int = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1));
  return {
    int,
    chance: (share) => next() < share,
    pick: <T>(items: readonly T[]) => items[int(0, items.length - 1)] as T, // callers give at least one
  };
}

/** `KILL_SEED` repeats a run; else another seed each time. It stands in the name of the test. */
export function seedOfRun(now: number): number {
  return Number(process.env["KILL_SEED"] ?? now % 1_000_000);
}
