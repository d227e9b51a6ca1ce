/** One event in full: its JSON, what it came of, where it stands in the conversation, and what the model was asked. */

import { type ReactElement, type ReactNode, useState } from "react";
import type { Event, Fact } from "@capstan/core";
import { causeOf } from "../data/log-row.ts";
import { pretty, wholeTime } from "../format.ts";
import { CopyButton } from "../view/copy-button.tsx";
import { hashOf } from "../data/route.ts";
import { Icon } from "../view/icon.tsx";
import { ModelRequestView } from "./model-request-view.tsx";

type Props = {
  readonly event: Event;
  readonly facts: readonly Fact[];
  readonly sessionId: string;
  readonly jump: (seq: number) => void;
  readonly close: () => void;
};

export function EventDetail({ event, facts, sessionId, jump, close }: Props): ReactElement {
  const turn = turnOf(event, facts);
  const [page, setPage] = useState<"event" | "request">("event");
  const shown = turn === undefined ? "event" : page;
  return (
    <section
      aria-label="Event"
      className="absolute inset-0 flex min-w-0 flex-col border-line bg-panel lg:static lg:w-1/2 lg:max-w-2xl lg:border-l"
    >
      <header className="flex items-center gap-2 border-b border-line px-4 py-2">
        <div className="min-w-0 flex-1">
          <h2 className="truncate font-mono text-[13px] font-bold">
            {event.type} <span className="text-muted">#{"eph" in event ? `${event.seq}.${event.eph}` : event.seq}</span>
          </h2>
          <p className="text-[12px] text-muted">{wholeTime(event.at)}</p>
        </div>
        <CopyButton text={() => pretty(event)} name="Copy this event as JSON" word="JSON" />
        <button type="button" onClick={close} aria-label="Close the event" className="button quiet px-1.5">
          <Icon name="cross" />
        </button>
      </header>
      <div className="flex flex-wrap gap-2 border-b border-line px-4 py-2">
        <Causes event={event} facts={facts} jump={jump} />
        {!("eph" in event) && (
          <a href={hashOf({ page: "session", sessionId, seq: event.seq })} className="button">
            <Icon name="chat" size={14} /> In the conversation
          </a>
        )}
        {turn !== undefined && (
          <>
            <Choice on={shown === "event"} choose={() => setPage("event")}>
              Event
            </Choice>
            <Choice on={shown === "request"} choose={() => setPage("request")}>
              Model request
            </Choice>
          </>
        )}
      </div>
      {shown === "request" && turn !== undefined ? (
        <ModelRequestView sessionId={sessionId} turn={turn} />
      ) : (
        <pre className="code min-h-0 flex-1 overflow-auto px-4 py-3" tabIndex={0} aria-label="JSON">
          {pretty(event)}
        </pre>
      )}
    </section>
  );
}

const MOST_CAUSES = 4;

/** The cause, its cause, and so on, the nearest first. */
function Causes({ event, facts, jump }: Pick<Props, "event" | "facts" | "jump">): ReactElement | null {
  const causes: Fact[] = [];
  for (let at = causeOf(event, facts); at !== undefined && causes.length < MOST_CAUSES; at = causeOf(at, facts))
    causes.push(at);
  return (
    <>
      {causes.map((cause, index) => (
        <button key={cause.seq} type="button" className="button font-mono text-[12px]" onClick={() => jump(cause.seq)}>
          <Icon name="back" size={13} />
          {index === 0 && <span className="font-sans text-muted">cause</span>} {cause.type} #{cause.seq}
        </button>
      ))}
    </>
  );
}

function Choice({
  on,
  choose,
  children,
}: {
  readonly on: boolean;
  readonly choose: () => void;
  readonly children: ReactNode;
}): ReactElement {
  return (
    <button
      type="button"
      aria-pressed={on}
      onClick={choose}
      className={`button ${on ? "border-accent text-accent" : ""}`}
    >
      {children}
    </button>
  );
}

type Turn = Extract<Fact, { readonly type: "turn.started" }>;

/** The model call that an event is of. */
function turnOf(event: Event, facts: readonly Fact[]): Turn | undefined {
  if (event.type === "turn.started") return event;
  if (event.type !== "turn.finished" && (event.type !== "message.added" || event.message.role !== "assistant"))
    return undefined;
  const start = facts.findLast(
    (fact) =>
      fact.type === "turn.started" && fact.seq < event.seq && fact.runId === event.runId && fact.turn === event.turn,
  );
  return start?.type === "turn.started" ? start : undefined;
}
