/** What doors show of a session's events. */

import type { Event } from "@capstan/core";

/** False for what is the business of plugins only: their own state, and the values of their steps. */
export function isShown(event: Event): boolean {
  if (event.type === "step.started" || event.type === "step.finished") return false;
  return event.type !== "data" || !event.name.startsWith("plugin/");
}
