/** A configuration file's content: the argument of `openRuntime`, given a name so that editors can check it. */

import type { RuntimeOptions } from "./open-runtime.ts";

export type Config = RuntimeOptions;

/** For `export default config({ ... })` in `capstan.config.ts`. Returns what it is given. */
export function config(options: Config): Config {
  return options;
}
