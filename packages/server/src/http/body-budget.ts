/** Memory for the bodies that are worked on at a time, of all callers together. */

import { CapstanError } from "@capstan/core";

export type BodyShare = {
  /** Throws `limit-reached` when there is no room, and `aborted` once it was given back. */
  take(bytes: number): void;
  giveBack(): void;
};

export function bodyBudget(mostBytes: number): () => BodyShare {
  let taken = 0;
  return () => {
    let own = 0;
    let over = false;
    return {
      take(bytes) {
        if (over) throw new CapstanError("aborted", "Nobody waits for this body any more");
        if (taken + bytes > mostBytes)
          throw new CapstanError("limit-reached", "Too much is sent at a time; send it again", { retryable: true });
        taken += bytes;
        own += bytes;
      },
      giveBack() {
        taken -= own;
        own = 0;
        over = true;
      },
    };
  };
}
