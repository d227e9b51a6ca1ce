/** One session: its head, the conversation or the inspector, what it asks, and where one speaks to it. */

import { type ReactElement, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import type { OpenRequest } from "@capstan/core";
import { type Feed, SessionFeed } from "../data/session-feed.ts";
import { familyOf } from "../data/session-tree.ts";
import { Inspector } from "../inspector/inspector.tsx";
import { RequestDock } from "../requests/request-dock.tsx";
import { Composer } from "./composer.tsx";
import { useSessions, useShared } from "./console-context.ts";
import { Details } from "./details.tsx";
import type { Route } from "../data/route.ts";
import { SessionHeader } from "./session-header.tsx";
import { SessionIdContext } from "./stored-file.tsx";
import { TranscriptView } from "./transcript-view.tsx";

type At = Extract<Route, { readonly sessionId: string }>;

export function SessionView({ route }: { readonly route: At }): ReactElement | null {
  const { connection } = useShared();
  const [feed, setFeed] = useState<SessionFeed>();
  useEffect(() => {
    const opened = new SessionFeed(connection, route.sessionId);
    setFeed(opened);
    return () => opened.close();
  }, [connection, route.sessionId]);
  if (feed === undefined) return null;
  return (
    <SessionIdContext value={route.sessionId}>
      <Opened feed={feed} route={route} />
    </SessionIdContext>
  );
}

const WIDE = "(min-width: 1280px)";

function Opened({ feed, route }: { readonly feed: SessionFeed; readonly route: At }): ReactElement {
  const shown = useSyncExternalStore(feed.subscribe, feed.snapshot);
  const [beside, setBeside] = useState(() => ({ session: matchMedia(WIDE).matches, inspect: false }));
  const details = beside[route.page];
  const setDetails = (shows: boolean): void => setBeside({ ...beside, [route.page]: shows });
  const requests = useFamilyRequests(route.sessionId, shown);
  const { overview, problem } = shown;
  if (overview === undefined)
    return (
      <p role="status" className="m-auto p-8 text-center text-muted">
        {problem ?? "Opening the session…"}
      </p>
    );
  return (
    <div className="relative flex min-h-0 min-w-0 flex-1">
      <section aria-label="Session" className="flex min-h-0 min-w-0 flex-1 flex-col">
        <SessionHeader
          overview={overview}
          link={shown.link}
          page={route.page}
          details={details}
          toggleDetails={() => setDetails(!details)}
        />
        {problem !== undefined && (
          <p role="alert" className="bg-bad-wash px-4 py-1.5 text-[13px] text-bad">
            {problem}
          </p>
        )}
        {route.page === "inspect" ? (
          <Inspector feed={feed} shown={shown} seq={route.seq} />
        ) : (
          <>
            <TranscriptView feed={feed} shown={shown} seq={route.seq} />
            <RequestDock sessionId={route.sessionId} requests={requests} />
            <Composer overview={overview} />
          </>
        )}
      </section>
      {details && <Details overview={overview} close={() => setDetails(false)} />}
    </div>
  );
}

/** Those of this session as its events say, and those of the sub-agents below it as the list says. */
function useFamilyRequests(sessionId: string, { overview }: Feed): readonly OpenRequest[] {
  const { sessions, requests } = useSessions();
  return useMemo(() => {
    const family = familyOf(sessions, sessionId);
    const below = requests.filter((request) => request.sessionId !== sessionId && family.has(request.sessionId));
    return [...(overview?.requests ?? []), ...below];
  }, [sessions, requests, sessionId, overview?.requests]);
}
