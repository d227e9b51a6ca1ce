/** A bounded list of values by key for the folds of plugins: JSON, the newest last, safe for any text as a key. */

export type Remembered<Value> = readonly (readonly [key: string, value: Value])[];

export function recall<Value>(pairs: Remembered<Value>, key: string): Value | undefined {
  return pairs.findLast(([known]) => known === key)?.[1];
}

/** With `value` as the newest; what is beyond `limit` is forgotten, the oldest first. */
export function remember<Value>(pairs: Remembered<Value>, key: string, value: Value, limit: number): Remembered<Value> {
  return [...forget(pairs, key), [key, value] as const].slice(-limit);
}

export function forget<Value>(pairs: Remembered<Value>, key: string): Remembered<Value> {
  return pairs.some(([known]) => known === key) ? pairs.filter(([known]) => known !== key) : pairs;
}
