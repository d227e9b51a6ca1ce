/** The folds of plugins over the facts of a session: each its own, none trusted to be plain data. */

import { leftAlone } from "./errors.ts";
import type { Fact } from "./event.ts";
import type { Plugin } from "./plugin.ts";

/** By the name of the plugin. */
export type Folds = Map<string, unknown>;

/** Throws what the fold throws; it then keeps what it had. */
export function foldOwn(folds: Folds, plugin: Plugin, fact: Fact): void {
  if (plugin.fold === undefined) return;
  const next: unknown = plugin.fold.next(folds.get(plugin.name), fact);
  if (leftAlone(next)) throw new Error("a fold answers at once, not with a promise");
  folds.set(plugin.name, next);
}

/** What a snapshot keeps, of these plugins only: a fold that is left out is folded again from the whole log. */
export function writableFolds(
  folds: Folds,
  plugins: readonly Plugin[],
  failed: (plugin: Plugin, error: unknown) => void,
): { readonly [plugin: string]: unknown } {
  const isWritable = (plugin: Plugin): boolean => {
    try {
      JSON.stringify(folds.get(plugin.name));
      return true;
    } catch (error) {
      failed(plugin, error);
      return false;
    }
  };
  const kept = plugins.filter((plugin) => plugin.fold !== undefined && isWritable(plugin));
  return Object.fromEntries(kept.map(({ name }) => [name, folds.get(name)]));
}
