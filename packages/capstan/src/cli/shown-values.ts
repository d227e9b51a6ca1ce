/** Times and costs as people read them. */

import type { Usage } from "@capstan/core";

/** Local time, as a list shows it. */
export function shownTime(at: number): string {
  if (at === 0) return "unknown";
  const date = new Date(at);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** At the end of a list: with a comma before it, and empty when the cost is not known. */
export function shownCost({ costMicroUsd }: Usage): string {
  return costMicroUsd === undefined ? "" : `, $${(costMicroUsd / 1_000_000).toFixed(4)}`;
}
