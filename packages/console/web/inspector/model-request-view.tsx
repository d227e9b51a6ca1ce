/** What the model was asked in a turn: system text and tools as they were sent, and the conversation as it stood. */

import { type ReactElement, type ReactNode, useEffect, useState } from "react";
import type { FactOf, Json, Message, ToolSpec } from "@capstan/core";
import { messageOf } from "../api/connection.ts";
import { count, pretty } from "../format.ts";
import { useShared } from "../view/console-context.ts";
import { CopyButton } from "../view/copy-button.tsx";

type ModelRequest = {
  readonly model: string;
  readonly prefixHash: string;
  readonly system?: string;
  readonly tools?: readonly ToolSpec[];
  readonly messages: readonly Message[];
  readonly overrides?: Json;
};

type Props = { readonly sessionId: string; readonly turn: FactOf<"turn.started"> };

export function ModelRequestView({ sessionId, turn }: Props): ReactElement {
  const { connection } = useShared();
  const [request, setRequest] = useState<ModelRequest>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    const stop = new AbortController();
    connection
      .ask<ModelRequest>(`sessions/${encodeURIComponent(sessionId)}/turns/${turn.seq}/request`, { signal: stop.signal })
      .then(setRequest)
      .catch((error: unknown) => !stop.signal.aborted && setProblem(messageOf(error)));
    return () => stop.abort();
  }, [connection, sessionId, turn.seq]);
  if (request === undefined) return <p className="p-4 text-muted">{problem ?? "Reading the log…"}</p>;
  const { model, prefixHash, system, tools, messages, overrides } = request;
  return (
    <div className="min-h-0 flex-1 space-y-2 overflow-auto px-4 py-3">
      <div className="flex items-center gap-2 text-[12.5px] text-muted">
        <p className="min-w-0 flex-1 truncate">
          <span className="font-mono text-ink">{model}</span> · turn {turn.turn}, try {turn.attempt} · prefix{" "}
          <span className="font-mono">{prefixHash.slice(0, 12)}</span>
        </p>
        <CopyButton text={() => pretty(request)} name="Copy the request as JSON" word="JSON" />
      </div>
      <Section title="System" size={system === undefined ? "not stored" : `${count(system.length)} characters`}>
        <pre className="well code max-h-96">{system}</pre>
      </Section>
      <Section title="Tools" size={String(tools?.length ?? 0)}>
        {tools?.map((tool) => (
          <Section key={tool.name} title={tool.name} size="">
            <pre className="well code max-h-80">{pretty(tool)}</pre>
          </Section>
        ))}
      </Section>
      {overrides !== undefined && (
        <Section title="Set for this run" size="">
          <pre className="well code max-h-60">{pretty(overrides)}</pre>
        </Section>
      )}
      <Section title="Messages" size={String(messages.length)} open>
        <Messages messages={messages} />
      </Section>
      <p className="text-[12px] text-muted">
        Put together from the log: system text and tools are the stored bytes. What a plugin adds to the end of one
        request is not a fact and not shown.
      </p>
    </div>
  );
}

const MOST = 100;

function Messages({ messages }: { readonly messages: readonly Message[] }): ReactElement {
  const [all, setAll] = useState(false);
  const hidden = all ? 0 : Math.max(0, messages.length - MOST);
  return (
    <>
      {hidden > 0 && (
        <button type="button" className="button quiet" onClick={() => setAll(true)}>
          {hidden} earlier
        </button>
      )}
      {messages.slice(hidden).map((message) => (
        <Section key={message.id} title={message.role} size={message.parts.map(({ type }) => type).join(", ")}>
          <pre className="well code max-h-96">{pretty(message.parts)}</pre>
        </Section>
      ))}
    </>
  );
}

type SectionProps = {
  readonly title: string;
  readonly size: string;
  readonly open?: boolean;
  readonly children: ReactNode;
};

function Section({ title, size, open = false, children }: SectionProps): ReactElement {
  return (
    <details open={open} className="rounded-lg border border-line bg-raised px-3 py-1.5">
      <summary className="flex gap-2 text-[13px] font-semibold">
        <span className="flex-1 font-mono">{title}</span>
        <span className="truncate font-normal text-muted">{size}</span>
      </summary>
      <div className="mt-2 space-y-1.5">{children}</div>
    </details>
  );
}
