/** The folds of plugins over the facts of a session: each its own, none trusted to be plain data. */

import type { Plugin } from "../ports/plugin.ts";
import { leftAlone } from "../words/errors.ts";
import type { Fact } from "../words/event.ts";

export class Folds {
  /** By the name of the plugin. */
  readonly #values: Map<string, unknown>;
  #failures = new Map<Plugin, unknown>();

  /** `values`: what a snapshot kept. */
  constructor(values: { readonly [plugin: string]: unknown } = {}) {
    this.#values = new Map(Object.entries(values));
  }

  /** Whether a value of this plugin is here. */
  has({ name }: Plugin): boolean {
    return this.#values.has(name);
  }

  of({ name }: Plugin): unknown {
    return this.#values.get(name);
  }

  /** Sets those that fold to their start. */
  begin(plugins: readonly Plugin[]): void {
    for (const { name, fold } of plugins) if (fold !== undefined) this.#values.set(name, fold.start);
  }

  /** A fold that throws keeps what it had: the facts of others must not be lost with it. */
  add(plugins: readonly Plugin[], fact: Fact): void {
    for (const plugin of plugins) {
      if (plugin.fold === undefined) continue;
      try {
        const next: unknown = plugin.fold.next(this.of(plugin), fact);
        if (leftAlone(next)) throw new Error("a fold answers at once, not with a promise");
        this.#values.set(plugin.name, next);
      } catch (error) {
        this.#failures.set(plugin, error);
      }
    }
  }

  /** What has failed since this was asked last, once a plugin. */
  takeFailures(): ReadonlyMap<Plugin, unknown> {
    const failures = this.#failures;
    if (failures.size > 0) this.#failures = new Map();
    return failures;
  }

  /** What a snapshot keeps, of these plugins only: a fold that is left out is folded again from the whole log. */
  writable(plugins: readonly Plugin[]): { readonly [plugin: string]: unknown } {
    const isWritable = (plugin: Plugin): boolean => {
      try {
        JSON.stringify(this.of(plugin));
        return true;
      } catch (error) {
        this.#failures.set(plugin, error);
        return false;
      }
    };
    const kept = plugins.filter((plugin) => plugin.fold !== undefined && isWritable(plugin));
    return Object.fromEntries(kept.map((plugin) => [plugin.name, this.of(plugin)]));
  }
}
