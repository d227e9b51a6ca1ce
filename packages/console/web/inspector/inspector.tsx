/** The log of a session, fact by fact, with what was live in between: searched, opened, followed to its cause. */

import { type ReactElement, useDeferredValue, useMemo, useState } from "react";
import type { Event } from "@capstan/core";
import type { Feed, SessionFeed } from "../data/session-feed.ts";
import { hasWords, type LogRow, logRows } from "../data/log-row.ts";
import { pretty } from "../format.ts";
import { CopyButton } from "../view/copy-button.tsx";
import { go } from "../view/hash-route.ts";
import { EventDetail } from "./event-detail.tsx";
import { LogList } from "./log-list.tsx";

type Kind = "all" | "runs" | "model" | "tools" | "requests";
const KINDS: readonly (readonly [Kind, string, RegExp])[] = [
  ["all", "All", /^/],
  ["runs", "Runs", /^(run|input|session|task|context|plan)\./],
  ["model", "Model", /^(turn|message|prefix|text|reasoning|tool-input|block|usage|context)\./],
  ["tools", "Tools", /^(tool|tool-input)\./],
  ["requests", "Requests", /^request\./],
];

type Props = { readonly feed: SessionFeed; readonly shown: Feed; readonly seq: number | undefined };

export function Inspector({ feed, shown, seq }: Props): ReactElement {
  const { facts, liveEvents } = shown;
  const { sessionId } = feed;
  const [kind, setKind] = useState<Kind>("all");
  const [words, setWords] = useState("");
  const [live, setLive] = useState(false);
  const [liveCursor, setLiveCursor] = useState<string>();
  const wanted = useDeferredValue(words.trim().toLowerCase());
  const rows = useMemo(() => {
    const pattern = KINDS.find(([value]) => value === kind)?.[2] ?? /^/;
    return logRows(facts, live ? liveEvents : []).filter(
      (row) => pattern.test(row.event.type) && hasWords(row, wanted),
    );
  }, [facts, liveEvents, live, kind, wanted]);
  const cursor = liveCursor ?? (seq === undefined ? undefined : String(seq));
  const event = useMemo(() => eventAt(cursor, shown), [cursor, shown]);
  const choose = (row: LogRow): void => {
    setLiveCursor(row.live ? row.cursor : undefined);
    if (!row.live) go({ page: "inspect", sessionId, seq: row.event.seq });
  };
  const jump = (to?: number): void => {
    setLiveCursor(undefined);
    go({ page: "inspect", sessionId, ...(to !== undefined && { seq: to }) });
  };
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-2 border-b border-line bg-panel px-3 py-2 sm:px-4">
        <input
          type="search"
          aria-label="Filter"
          placeholder="Filter by type, text or seq"
          value={words}
          onChange={(change) => setWords(change.target.value)}
          className="field min-w-40 flex-1 sm:max-w-72"
        />
        <Kinds kind={kind} setKind={setKind} />
        <label className="flex cursor-pointer items-center gap-1.5 text-[13px]">
          <input type="checkbox" className="accent-accent" checked={live} onChange={() => setLive(!live)} /> Live events
        </label>
        <span className="flex-1" />
        <Tail rows={rows} feed={feed} shown={shown} />
      </div>
      <div className="relative flex min-h-0 flex-1">
        <LogList rows={rows} chosen={cursor} choose={choose} />
        {event !== undefined && (
          <EventDetail
            key={cursor}
            event={event}
            facts={facts}
            sessionId={sessionId}
            jump={jump}
            close={() => jump()}
          />
        )}
      </div>
    </div>
  );
}

type TailProps = { readonly rows: readonly LogRow[]; readonly feed: SessionFeed; readonly shown: Feed };

function Tail({ rows, feed, shown: { after, loadingEarlier } }: TailProps): ReactElement {
  return (
    <>
      <span className="text-[12px] text-muted tabular-nums">{rows.length} rows</span>
      {after > 0 && (
        <button type="button" className="button" disabled={loadingEarlier} onClick={() => void feed.loadEarlier()}>
          {loadingEarlier ? "Reading…" : `${after} earlier`}
        </button>
      )}
      <CopyButton text={() => pretty(rows.map((row) => row.event))} name="Copy these rows as JSON" word="JSON" />
    </>
  );
}

function eventAt(cursor: string | undefined, { facts, liveEvents }: Feed): Event | undefined {
  if (cursor === undefined) return undefined;
  if (!cursor.includes(".")) return facts.find(({ seq }) => String(seq) === cursor);
  return liveEvents.find(({ seq, eph }) => `${seq}.${eph}` === cursor);
}

function Kinds({ kind, setKind }: { readonly kind: Kind; readonly setKind: (kind: Kind) => void }): ReactElement {
  return (
    <div role="group" aria-label="Which events" className="flex flex-wrap rounded-lg bg-sunken p-0.5">
      {KINDS.map(([value, word]) => (
        <button
          key={value}
          type="button"
          aria-pressed={kind === value}
          onClick={() => setKind(value)}
          className={`rounded-md px-2 py-1 text-[12px] font-semibold ${kind === value ? "bg-raised text-ink shadow-sm" : "text-muted hover:text-ink"}`}
        >
          {word}
        </button>
      ))}
    </div>
  );
}
