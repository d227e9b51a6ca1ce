/** The theme that counts now, for everything that is drawn: changed in one place, seen everywhere at the next frame. */

import { type ColorDepth, styled } from "./view/style.ts";
import { type Glyphs, glyphsOf } from "./view/glyphs.ts";
import { type Role, type Theme, THEMES } from "./themes.ts";

export interface ThemeContext {
  readonly theme: Theme;
  readonly themes: readonly Theme[];
  readonly glyphs: Glyphs;
  /** Raised by every change: what was drawn before is out of date. */
  readonly version: number;
  /** The text as the role looks now. */
  readonly style: (role: Role, text: string) => string;
  /** False for a name that no theme has. */
  use(name: string): boolean;
  /** Called after each change. Returns how to end that. */
  subscribe(listener: (theme: Theme) => void): () => void;
}

export type ThemeContextOptions = {
  readonly depth: ColorDepth;
  readonly isUnicode: boolean;
  /** Beside the built-in ones; one of the same name takes its place. */
  readonly themes?: readonly Theme[];
  /** Name of the first; default the first built-in one. Where there are no colours it is always `none`. */
  readonly name?: string | undefined;
};

export function themeContext({ depth, isUnicode, themes: own = [], name }: ThemeContextOptions): ThemeContext {
  const themes = [...THEMES.filter((theme) => !own.some((other) => other.name === theme.name)), ...own];
  const find = (wanted: string | undefined): Theme | undefined => themes.find((theme) => theme.name === wanted);
  let theme = find(depth === 1 ? "none" : name) ?? (themes[0] as Theme); // there are always the built-in ones
  let version = 0;
  const listeners = new Set<(theme: Theme) => void>();
  return {
    get theme() {
      return theme;
    },
    themes,
    glyphs: glyphsOf(isUnicode),
    get version() {
      return version;
    },
    style: (role, text) => styled(text, theme.styles[role], depth),
    use(wanted) {
      const found = find(wanted);
      if (found === undefined) return false;
      theme = found;
      version += 1;
      for (const listener of listeners) listener(theme);
      return true;
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
