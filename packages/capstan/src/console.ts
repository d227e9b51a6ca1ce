/** capstan/console: the web console, as pages of an HTTP door. */

export { consolePages } from "@capstan/console";
export type { ConsoleOptions, ConsolePages } from "@capstan/console";
