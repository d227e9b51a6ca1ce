/** Rows of the log: only those in sight are drawn. It stays at its end while somebody is there. */

import { type KeyboardEvent, type ReactElement, useLayoutEffect, useRef, useState } from "react";
import { lineOf, type LogRow } from "../data/log-row.ts";
import { clockTime } from "../format.ts";

const ROW = 30;
const BEYOND = 20;
const LINE_CHARS = 300;

type Props = {
  readonly rows: readonly LogRow[];
  readonly chosen: string | undefined;
  readonly choose: (row: LogRow) => void;
};

export function LogList({ rows, chosen, choose }: Props): ReactElement {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const following = useRef(true);
  const shownChosen = useRef<string>(undefined);
  const look = (): void => {
    const { current } = box;
    if (current === null) return;
    following.current = current.scrollHeight - current.scrollTop - current.clientHeight < ROW;
    setView({ top: current.scrollTop, height: current.clientHeight });
  };
  const index = chosen === undefined ? -1 : rows.findIndex(({ cursor }) => cursor === chosen);
  useLayoutEffect(() => {
    const { current } = box;
    if (current === null) return;
    if (index !== -1 && shownChosen.current !== chosen) {
      shownChosen.current = chosen;
      const top = index * ROW;
      if (top < current.scrollTop || top > current.scrollTop + current.clientHeight - ROW)
        current.scrollTop = top - current.clientHeight / 2;
      following.current = false;
    } else if (following.current) current.scrollTop = current.scrollHeight;
    setView({ top: current.scrollTop, height: current.clientHeight });
  }, [rows.length, chosen, index]);
  const onKey = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const next = rows[index + step];
    if (step === 0 || next === undefined) return;
    event.preventDefault();
    choose(next);
  };
  const first = Math.max(0, Math.floor(view.top / ROW) - BEYOND);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / ROW) + BEYOND);
  return (
    <div
      ref={box}
      role="listbox"
      aria-label="Events"
      tabIndex={0}
      onScroll={look}
      onKeyDown={onKey}
      aria-activedescendant={index === -1 ? undefined : `row-${chosen}`}
      className="min-h-0 min-w-0 flex-1 overflow-y-auto"
    >
      <div className="relative font-mono text-[12px]" style={{ height: rows.length * ROW }}>
        {rows.slice(first, last).map((row, offset) => (
          <Row key={row.cursor} row={row} top={(first + offset) * ROW} chosen={row.cursor === chosen} choose={choose} />
        ))}
      </div>
    </div>
  );
}

type RowProps = {
  readonly row: LogRow;
  readonly top: number;
  readonly chosen: boolean;
  readonly choose: (row: LogRow) => void;
};

function Row({ row, top, chosen, choose }: RowProps): ReactElement {
  const { cursor, event, live } = row;
  return (
    <div
      id={`row-${cursor}`}
      role="option"
      aria-selected={chosen}
      onClick={() => choose(row)}
      style={{ top, height: ROW }}
      className={`absolute inset-x-0 flex cursor-pointer items-center gap-3 border-b border-line/60 px-3 sm:px-4 ${
        chosen ? "bg-accent-wash" : "hover:bg-sunken"
      } ${live ? "text-muted" : ""}`}
    >
      <span className="w-12 shrink-0 text-right text-muted tabular-nums">{cursor}</span>
      <span className="hidden w-20 shrink-0 text-muted tabular-nums lg:block">{clockTime(event.at)}</span>
      <span className={`w-36 shrink-0 truncate font-semibold ${toneOf(event.type)}`}>{event.type}</span>
      <span className="min-w-0 flex-1 truncate text-soft">
        {lineOf(event).replaceAll(/\s+/g, " ").slice(0, LINE_CHARS)}
      </span>
    </div>
  );
}

function toneOf(type: string): string {
  if (type.startsWith("request.")) return "text-accent";
  if (type.startsWith("tool")) return "text-good";
  if (/^(turn|message|prefix|text|reasoning|block)/.test(type)) return "text-info";
  return "";
}
