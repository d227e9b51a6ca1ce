/** Light or dark: what the system says until somebody chooses. */

import { useSyncExternalStore } from "react";

type Theme = "light" | "dark";
const KEY = "capstan.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = themeNow();
}

export function useTheme(): readonly [Theme, () => void] {
  const theme = useSyncExternalStore((changed) => {
    listeners.add(changed);
    return () => void listeners.delete(changed);
  }, themeNow);
  return [theme, () => choose(theme === "dark" ? "light" : "dark")];
}

function themeNow(): Theme {
  const chosen = localStorage.getItem(KEY);
  if (chosen === "light" || chosen === "dark") return chosen;
  return system.matches ? "dark" : "light";
}

function choose(theme: Theme): void {
  localStorage.setItem(KEY, theme);
  changed();
}

function changed(): void {
  applyTheme();
  for (const listener of listeners) listener();
}

system.addEventListener("change", changed);
