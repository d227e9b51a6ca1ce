/** The head of a session: what it is called, what it does now, and the ways to look at it. */

import type { ReactElement } from "react";
import type { Link } from "../api/follow.ts";
import type { Overview } from "../data/overview.ts";
import { nameOf } from "../data/session-tree.ts";
import { BackToList } from "./back-to-list.tsx";
import { hashOf, type Route } from "../data/route.ts";
import { Icon, type IconName } from "./icon.tsx";
import { StatusChip, StatusDot } from "./status.tsx";

type Header = {
  readonly overview: Overview;
  readonly link: Link;
  readonly page: Route["page"];
  readonly details: boolean;
  readonly toggleDetails: () => void;
};

export function SessionHeader({ overview, link, page, details, toggleDetails }: Header): ReactElement {
  const { sessionId, agent, model, parent, status, requests } = overview;
  return (
    <header className="flex min-h-14 items-center gap-2 border-b border-line bg-panel px-3 sm:px-4">
      <BackToList />
      <div className="min-w-0 flex-1 py-1.5">
        <div className="flex min-w-0 items-center gap-2">
          <span className="flex sm:hidden">
            <StatusDot status={requests.length > 0 ? "waiting" : status} />
          </span>
          <h1 className="truncate text-[15px] font-bold tracking-tight">{nameOf(overview)}</h1>
          <span className="hidden sm:inline-flex">
            <StatusChip status={requests.length > 0 ? "waiting" : status} />
          </span>
        </div>
        <p className="flex min-w-0 gap-1.5 truncate text-[12px] text-muted">
          {parent !== undefined && (
            <a href={hashOf({ page: "session", sessionId: parent })} className="flex items-center gap-1 underline">
              <Icon name="tree" size={12} /> parent
            </a>
          )}
          <span className="truncate">
            {agent}
            {model !== undefined && ` · ${model}`}
          </span>
          <LinkState link={link} />
        </p>
      </div>
      <div role="group" aria-label="View" className="flex rounded-lg bg-sunken p-0.5">
        <Tab page="session" icon="chat" name="Conversation" on={page === "session"} sessionId={sessionId} />
        <Tab page="inspect" icon="eye" name="Inspector" on={page === "inspect"} sessionId={sessionId} />
      </div>
      <button
        type="button"
        onClick={toggleDetails}
        aria-pressed={details}
        aria-label="Details"
        title="Details"
        className={`button quiet px-1.5 ${details ? "bg-sunken text-ink" : ""}`}
      >
        <Icon name="panel" size={18} />
      </button>
    </header>
  );
}

type TabProps = {
  readonly page: "session" | "inspect";
  readonly icon: IconName;
  readonly name: string;
  readonly on: boolean;
  readonly sessionId: string;
};

function Tab({ page, icon, name, on, sessionId }: TabProps): ReactElement {
  return (
    <a
      href={hashOf({ page, sessionId })}
      aria-current={on ? "page" : undefined}
      aria-label={name}
      className={`flex items-center gap-1.5 rounded-md px-2 py-1 text-[12.5px] font-semibold ${
        on ? "bg-raised text-ink shadow-sm" : "text-muted hover:text-ink"
      }`}
    >
      <Icon name={icon} size={15} />
      <span className="hidden lg:inline">{name}</span>
    </a>
  );
}

function LinkState({ link }: { readonly link: Link }): ReactElement | null {
  if (link === "open") return null;
  const words = { connecting: "connecting…", lost: "connection lost, trying again…", ended: "no longer live" } as const;
  return (
    <span role="status" className="shrink-0 font-semibold text-accent">
      · {words[link]}
    </span>
  );
}
