/** What a plugin recorded itself, told apart from all other facts in its fold. */

import type { Fact } from "@capstan/core";

/** The data of a fact that the plugin of this name wrote with `context.record`; its author knows its type. */
export function recorded<Data>(fact: Fact, plugin: string): Data | undefined {
  return fact.type === "data" && fact.name === `plugin/${plugin}` ? (fact.data as Data) : undefined;
}
