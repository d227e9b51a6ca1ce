/** The only place that makes ids: prefixed, monotonic UUIDv7 text. Opaque; never parse one. */

import { randomBytes, randomUUID } from "node:crypto";

export interface Ids {
  /** A new id such as `ses_0193...`; ids of one process sort in the order they were made. */
  next(prefix: string): string;
  /** A random token that no other process can guess or repeat. */
  random(): string;
}

export function systemIds(now: () => number): Ids {
  let lastMs = 0;
  let counter = 0;
  return {
    next(prefix) {
      const ms = Math.max(now(), lastMs);
      counter = ms === lastMs ? counter + 1 : 0;
      lastMs = ms + (counter >> 16); // a full counter carries into the time
      counter &= 0xffff;
      const time = lastMs.toString(16).padStart(12, "0");
      const order = counter.toString(16).padStart(4, "0");
      return `${prefix}_${time}${order}${randomBytes(8).toString("hex")}`;
    },
    random: () => randomUUID(),
  };
}
