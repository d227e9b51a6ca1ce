/** Which package may import which: only packages of a lower layer. A new package is added here first. */

export const LAYERS: Readonly<Record<string, number>> = {
  "@capstan/core": 0,
  "@capstan/models": 1,
  "@capstan/engines": 1,
  "@capstan/tools": 1,
  "@capstan/plugins": 1,
  "@capstan/memory": 1,
  "@capstan/mcp": 1,
  "@capstan/wire": 1,
  "@capstan/server": 2,
  "@capstan/acp": 2,
  "@capstan/tui": 2,
  "@capstan/console": 2,
  capstan: 3,
};

/** True when `from` may depend on `to`. */
export function isBelow(to: string, from: string): boolean {
  return (LAYERS[to] ?? Infinity) < (LAYERS[from] ?? -Infinity);
}
