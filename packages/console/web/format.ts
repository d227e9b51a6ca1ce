/** Numbers, times and sizes as people read them. */

import type { Json, Part, Usage } from "@capstan/core";

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const shortClock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export function clockTime(at: number): string {
  return clock.format(at);
}

export function wholeTime(at: number): string {
  return whole.format(at);
}

/** The time of today, else the day. */
export function whenShort(at: number, now: number): string {
  return now - at < 86_400_000 && new Date(at).getDate() === new Date(now).getDate()
    ? shortClock.format(at)
    : day.format(at);
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60_000) / 1_000)} s`;
  return minutes < 2_880 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${Math.floor(minutes / 1_440)} days`;
}

export function count(value: number): string {
  if (value < 10_000) return value.toLocaleString("en");
  return value < 1_000_000
    ? `${(value / 1_000).toFixed(value < 100_000 ? 1 : 0)}k`
    : `${(value / 1_000_000).toFixed(2)}M`;
}

export function money(microUsd: number): string {
  const usd = microUsd / 1_000_000;
  return `$${usd < 0.01 ? usd.toFixed(4) : usd.toFixed(2)}`;
}

export function cost(usage: Usage): string | undefined {
  return usage.costMicroUsd === undefined ? undefined : money(usage.costMicroUsd);
}

export function pretty(value: unknown): string {
  return JSON.stringify(value, undefined, 2) ?? "";
}

/** The text of what somebody said, with files by name. */
export function saidText(parts: readonly Part[]): string {
  return parts
    .map((part) => {
      if (part.type === "text") return part.text;
      return part.type === "file" ? `[${part.name ?? part.mediaType}]` : "";
    })
    .join("")
    .trim();
}

/** One line of what a call is given. */
export function inputLine(input: Json): string {
  if (typeof input === "string") return input.replaceAll(/\s+/g, " ").slice(0, 200);
  if (typeof input !== "object" || input === null) return String(input ?? "");
  const values = Object.values(input).filter((value) => typeof value === "string" || typeof value === "number");
  return values.map(String).join("  ").replaceAll(/\s+/g, " ").slice(0, 200);
}
