/** @capstan/tui/look: what a program needs to say how the terminal looks, without loading what draws it. */

export type { Look } from "./options.ts";
export { parseTheme, ROLES, type Role, type Theme, THEMES } from "./themes.ts";
export { isUnicodeLocale } from "./view/glyphs.ts";
