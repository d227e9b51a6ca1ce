/** The list of sessions, with a search, and the ways to everything else. */

import { type ReactElement, useDeferredValue, useMemo, useState } from "react";
import type { SessionSummary } from "@capstan/core";
import { nameOf, rowsOf } from "../data/session-tree.ts";
import { useSessions, useShared } from "./console-context.ts";
import { hashOf, type Route } from "../data/route.ts";
import { Icon } from "./icon.tsx";
import { SessionRows } from "./session-rows.tsx";
import { useTheme } from "./theme.ts";

type Show = "all" | "active" | "waiting";

export function Sidebar({ route }: { readonly route: Route }): ReactElement {
  const { sessions, loaded, requests, more } = useSessions();
  const { list } = useShared();
  const [search, setSearch] = useState("");
  const [show, setShow] = useState<Show>("all");
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const wanted = useDeferredValue(search.trim().toLowerCase());
  const rows = useMemo(() => {
    const found = sessions.filter((session) => matches(session, wanted, show));
    if (wanted !== "" || show !== "all")
      return found.map((session) => ({ session, depth: 0, children: 0, waiting: session.openRequests.length }));
    return rowsOf(found, unfolded);
  }, [sessions, wanted, show, unfolded]);
  const selected = "sessionId" in route ? route.sessionId : undefined;
  return (
    <nav aria-label="Sessions" className="flex min-h-0 w-full flex-col bg-panel">
      <Top waiting={requests.length} page={route.page} />
      <div className="space-y-2 px-3 pb-2">
        <label className="relative block">
          <span className="sr-only">Search sessions</span>
          <span className="pointer-events-none absolute top-2 left-2.5 text-muted">
            <Icon name="search" />
          </span>
          <input
            type="search"
            placeholder="Search sessions"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
            className="field pl-8"
          />
        </label>
        <Filter show={show} setShow={setShow} />
      </div>
      <SessionRows rows={rows} selected={selected} unfolded={unfolded} setUnfolded={setUnfolded}>
        {rows.length === 0 && (
          <p className="px-4 py-6 text-center text-[13px] text-muted">{loaded ? "No sessions here." : "Loading…"}</p>
        )}
        {more && (
          <button type="button" className="button quiet mx-auto my-2 flex" onClick={() => list.more()}>
            Older sessions
          </button>
        )}
      </SessionRows>
      <Bottom />
    </nav>
  );
}

function Top({ waiting, page }: { readonly waiting: number; readonly page: Route["page"] }): ReactElement {
  return (
    <div className="px-3 pt-3 pb-2">
      <div className="mb-3 flex items-center gap-2.5 px-1">
        <img src="./icon.svg" alt="" width={26} height={26} />
        <span className="text-[15px] font-bold tracking-tight">Capstan</span>
      </div>
      <div className="grid grid-cols-2 gap-2">
        <a
          href={hashOf({ page: "new" })}
          className="button"
          title="Alt+N"
          aria-current={page === "new" ? "page" : undefined}
        >
          <Icon name="plus" /> New
        </a>
        <a
          href={hashOf({ page: "inbox" })}
          title="Alt+I"
          aria-current={page === "inbox" ? "page" : undefined}
          className={`button ${waiting > 0 ? "border-accent bg-accent-wash text-accent" : ""}`}
        >
          <Icon name="inbox" /> Requests
          {waiting > 0 && <span className="chip bg-accent text-accent-ink">{waiting}</span>}
        </a>
      </div>
    </div>
  );
}

const SHOWN: readonly (readonly [Show, string])[] = [
  ["all", "All"],
  ["active", "Active"],
  ["waiting", "Needs you"],
];

function Filter({ show, setShow }: { readonly show: Show; readonly setShow: (show: Show) => void }): ReactElement {
  return (
    <div role="group" aria-label="Which sessions" className="flex rounded-lg bg-sunken p-0.5">
      {SHOWN.map(([value, word]) => (
        <button
          key={value}
          type="button"
          aria-pressed={show === value}
          onClick={() => setShow(value)}
          className={`flex-1 rounded-md px-1 py-1 text-[12px] font-semibold ${
            show === value ? "bg-raised text-ink shadow-sm" : "text-muted hover:text-ink"
          }`}
        >
          {word}
        </button>
      ))}
    </div>
  );
}

function Bottom(): ReactElement {
  const { logOut } = useShared();
  const [theme, toggle] = useTheme();
  const { sessions } = useSessions();
  return (
    <div className="flex items-center gap-1 border-t border-line px-3 py-1.5 text-[12px] text-muted">
      <span className="flex-1 px-1">
        {sessions.length} {sessions.length === 1 ? "session" : "sessions"}
      </span>
      <button
        type="button"
        onClick={toggle}
        className="button quiet"
        aria-label={theme === "dark" ? "Light colours" : "Dark colours"}
      >
        <Icon name={theme === "dark" ? "sun" : "moon"} />
      </button>
      <button type="button" onClick={logOut} className="button quiet" aria-label="Sign out">
        <Icon name="logout" />
      </button>
    </div>
  );
}

function matches(session: SessionSummary, wanted: string, show: Show): boolean {
  if (show === "waiting" && session.openRequests.length === 0) return false;
  if (show === "active" && session.status === "idle") return false;
  if (wanted === "") return true;
  const { sessionId, agent, key = "" } = session;
  return [nameOf(session), sessionId, agent, key].some((text) => text.toLowerCase().includes(wanted));
}
