/** Rows of sessions: only those in sight are drawn. Up and down move between them. */

import { type KeyboardEvent, type ReactElement, type ReactNode, useLayoutEffect, useRef, useState } from "react";
import { nameOf, type Row } from "../data/session-tree.ts";
import { whenShort } from "../format.ts";
import { hashOf } from "../data/route.ts";
import { Icon } from "./icon.tsx";
import { useNow } from "./now.ts";
import { StatusDot } from "./status.tsx";

const ROW = 56;
const BEYOND = 12;

type Rows = {
  readonly rows: readonly Row[];
  readonly selected: string | undefined;
  readonly unfolded: ReadonlySet<string>;
  readonly setUnfolded: (unfolded: ReadonlySet<string>) => void;
  readonly children: ReactNode;
};

export function SessionRows({ rows, selected, unfolded, setUnfolded, children }: Rows): ReactElement {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const look = (): void => {
    const { scrollTop: top, clientHeight: height } = box.current ?? { scrollTop: 0, clientHeight: 800 };
    setView({ top, height });
  };
  useLayoutEffect(() => {
    look();
    addEventListener("resize", look);
    return () => removeEventListener("resize", look);
  }, []);
  const now = useNow(30_000);
  const first = Math.max(0, Math.floor(view.top / ROW) - BEYOND);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / ROW) + BEYOND);
  const fold = (id: string): void => {
    const next = new Set(unfolded);
    if (!next.delete(id)) next.add(id);
    setUnfolded(next);
  };
  return (
    <div ref={box} onScroll={look} onKeyDown={moveFocus} className="min-h-0 flex-1 overflow-y-auto">
      <ul className="relative" style={{ height: rows.length * ROW }}>
        {rows.slice(first, last).map((row, index) => (
          <li
            key={row.session.sessionId}
            className="absolute inset-x-0 px-2"
            style={{ top: (first + index) * ROW, height: ROW }}
          >
            <SessionRow
              row={row}
              now={now}
              selected={row.session.sessionId === selected}
              open={unfolded.has(row.session.sessionId)}
              fold={fold}
            />
          </li>
        ))}
      </ul>
      {children}
    </div>
  );
}

type RowProps = {
  readonly row: Row;
  readonly now: number;
  readonly selected: boolean;
  readonly open: boolean;
  readonly fold: (id: string) => void;
};

function SessionRow({ row, now, selected, open, fold }: RowProps): ReactElement {
  const { session, depth, children, waiting } = row;
  const { sessionId, agent, status, queued, updatedAt } = session;
  return (
    <div
      className={`flex h-[52px] items-center rounded-lg ${selected ? "bg-accent-wash" : "hover:bg-sunken"}`}
      style={{ paddingLeft: Math.min(depth, 4) * 14 }}
    >
      <a
        href={hashOf({ page: "session", sessionId })}
        aria-current={selected ? "page" : undefined}
        data-row=""
        className="flex min-w-0 flex-1 items-center gap-2.5 rounded-lg px-2 py-1.5"
      >
        <StatusDot status={waiting > 0 ? "waiting" : status} />
        <span className="min-w-0 flex-1">
          <span className="block truncate text-[13.5px] font-semibold">{nameOf(session)}</span>
          <span className="flex gap-1.5 text-[12px] text-muted">
            <span className="truncate">{agent}</span>
            {queued > 0 && <span className="shrink-0">· {queued} queued</span>}
          </span>
        </span>
        <span className="flex shrink-0 flex-col items-end gap-0.5 text-[11.5px] text-muted">
          <time dateTime={new Date(updatedAt).toISOString()}>{whenShort(updatedAt, now)}</time>
          {waiting > 0 && <span className="chip bg-accent text-accent-ink">{waiting}</span>}
        </span>
      </a>
      {children > 0 && (
        <button
          type="button"
          aria-expanded={open}
          aria-label={`${children} sub-agents`}
          onClick={() => fold(sessionId)}
          className="button quiet mr-1 min-h-8 px-1 text-[11px] text-muted"
        >
          <span className={open ? "rotate-90" : ""}>
            <Icon name="chevron" size={13} />
          </span>
          {children}
        </button>
      )}
    </div>
  );
}

function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0) return;
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-row]")];
  const at = links.indexOf(document.activeElement as HTMLElement);
  if (at === -1) return;
  event.preventDefault();
  links[at + step]?.focus();
}
