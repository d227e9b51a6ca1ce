/** Every open question of every session, the one that expires first on top. */

import type { ReactElement } from "react";
import { RequestCard } from "../requests/request-card.tsx";
import { BackToList } from "./back-to-list.tsx";
import { useSessions } from "./console-context.ts";
import { Icon } from "./icon.tsx";

const MOST = 50;

export function Inbox(): ReactElement {
  const { requests, loaded } = useSessions();
  const sorted = requests.toSorted((a, b) => a.expiresAt - b.expiresAt || a.openedAt - b.openedAt);
  return (
    <div className="min-h-0 flex-1 overflow-y-auto">
      <div className="mx-auto max-w-3xl space-y-3 p-4 sm:p-6">
        <h1 className="mb-4 flex items-center gap-2 text-xl font-bold tracking-tight">
          <BackToList /> Requests
          <span className="text-muted">{requests.length}</span>
        </h1>
        {requests.length === 0 && (
          <p className="flex flex-col items-center gap-3 py-20 text-muted">
            <Icon name="inbox" size={36} />
            {loaded ? "Nobody waits for you." : "Loading…"}
          </p>
        )}
        {sorted.slice(0, MOST).map((request) => (
          <div key={request.requestId} className="rounded-xl border border-line bg-panel p-4 shadow-card">
            <RequestCard request={request} foreign />
          </div>
        ))}
        {sorted.length > MOST && <p className="text-center text-muted">{sorted.length - MOST} more after these</p>}
      </div>
    </div>
  );
}
