/** What a session does now, as a dot and as a word. */

import type { SessionStatus } from "@capstan/core";
import type { ReactElement } from "react";

const LOOK: {
  readonly [status in SessionStatus]: { readonly word: string; readonly dot: string; readonly chip: string };
} = {
  idle: { word: "Idle", dot: "bg-muted/40", chip: "bg-sunken text-muted" },
  running: { word: "Running", dot: "bg-good text-good dot-live", chip: "bg-good-wash text-good" },
  waiting: { word: "Needs you", dot: "bg-accent text-accent", chip: "bg-accent-wash text-accent" },
  parked: { word: "Parked", dot: "bg-info", chip: "bg-info-wash text-info" },
  quarantined: { word: "Quarantined", dot: "bg-bad", chip: "bg-bad-wash text-bad" },
};

export function StatusDot({ status }: { readonly status: SessionStatus }): ReactElement {
  return (
    <span className={`inline-block size-2 shrink-0 rounded-full ${LOOK[status].dot}`}>
      <span className="sr-only">{LOOK[status].word}</span>
    </span>
  );
}

export function StatusChip({ status }: { readonly status: SessionStatus }): ReactElement {
  return (
    <span className={`chip ${LOOK[status].chip}`}>
      <span className={`inline-block size-1.5 rounded-full ${LOOK[status].dot}`} aria-hidden="true" />
      {LOOK[status].word}
    </span>
  );
}
