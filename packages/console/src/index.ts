/** The web console: its files, for a door to answer with. */

export { type ConsoleOptions, type ConsolePages, consolePages } from "./console-pages.ts";
