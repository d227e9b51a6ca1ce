/** Cursors as clients send them back: checked here, because the door writes them into its answers. */

import { CapstanError, type Cursor } from "@capstan/core";
import type { Call } from "./route.ts";

/** What the request says of where its reader stands. Throws `cursor-invalid`. */
export function cursorIn({ request, query }: Pick<Call<unknown>, "request" | "query">): Cursor | undefined {
  const given = request.headers.get("last-event-id") ?? query.get("after");
  if (given === null) return undefined;
  if (given === "end" || /^\d{1,15}(\.\d{1,15})?$/.test(given)) return given;
  throw new CapstanError("cursor-invalid", `${JSON.stringify(given.slice(0, 100))} is no cursor`);
}

/** The fact that a cursor names or follows; 0 for none. Throws `cursor-invalid` for `end`, behind which a run has nothing. */
export function seqOf(cursor: Cursor | undefined): number {
  if (cursor === undefined) return 0;
  if (cursor !== "end") return Math.floor(Number(cursor));
  throw new CapstanError("cursor-invalid", "A run's events are read from a cursor of theirs, not from its end");
}
