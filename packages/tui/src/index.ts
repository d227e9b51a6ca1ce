/** @capstan/tui: the terminal, its themes, and nothing of the library below. */

export { openTerminal } from "./terminal.ts";
export type { CommandInfo, Look, TerminalEnd, TerminalHost, TerminalOptions } from "./options.ts";
export { dayStats, type DayStats } from "./stats/day-stats.ts";
export { cacheShare, sessionStats, type SessionStats, type StatsFold, type ToolStats } from "./stats/session-stats.ts";
export { themeContext, type ThemeContext, type ThemeContextOptions } from "./theme-context.ts";
export { parseTheme, ROLES, type Role, type Theme, THEMES } from "./themes.ts";
export { isUnicodeLocale } from "./view/glyphs.ts";
export type { Color, ColorDepth, Style } from "./view/style.ts";
