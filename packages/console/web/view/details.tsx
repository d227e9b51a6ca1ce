/** What there is to know about a session beside what was said: numbers, plan, sub-agents, and what can be done with it. */

import type { ReactElement } from "react";
import { type Overview, tokensOf } from "../data/overview.ts";
import { count, duration, money, wholeTime } from "../format.ts";
import { Acts } from "./acts.tsx";
import { AgentTree } from "./agent-tree.tsx";
import { CopyButton } from "./copy-button.tsx";
import { Group } from "./group.tsx";
import { Icon } from "./icon.tsx";
import { Plan } from "./item-view.tsx";
import { useNow } from "./now.ts";

export function Details({
  overview,
  close,
}: {
  readonly overview: Overview;
  readonly close: () => void;
}): ReactElement {
  const { plan, sessionId } = overview;
  return (
    <aside
      aria-label="Details"
      className="absolute inset-y-0 right-0 z-20 flex w-full max-w-80 flex-col overflow-y-auto border-l border-line bg-panel shadow-card xl:static xl:shadow-none"
    >
      <div className="flex min-h-14 items-center border-b border-line px-4">
        <h2 className="flex-1 font-bold">Details</h2>
        <button type="button" onClick={close} aria-label="Close the details" className="button quiet px-1.5">
          <Icon name="cross" />
        </button>
      </div>
      <div className="space-y-6 px-4 py-4">
        <Numbers overview={overview} />
        {plan.length > 0 && (
          <Group title="Plan">
            <Plan entries={plan} />
          </Group>
        )}
        <AgentTree sessionId={sessionId} />
        <About overview={overview} />
        <Acts overview={overview} />
      </div>
    </aside>
  );
}

function Numbers({ overview }: { readonly overview: Overview }): ReactElement {
  const { usage, run, contextTokens, contextSize } = overview;
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0, costMicroUsd } = usage;
  const read = inputTokens + cacheReadTokens + cacheWriteTokens;
  return (
    <Group title="Numbers">
      <dl className="grid grid-cols-2 gap-2">
        <Number name="Tokens" value={count(tokensOf(usage))} />
        <Number name="Cost" value={costMicroUsd === undefined ? "–" : money(costMicroUsd)} />
        <Number name="Read / said" value={`${count(read)} / ${count(outputTokens)}`} />
        <Number name="From cache" value={read === 0 ? "–" : `${Math.round((cacheReadTokens / read) * 100)} %`} />
        {run !== undefined && <Running run={run} />}
      </dl>
      {contextTokens > 0 && <Context tokens={contextTokens} size={contextSize} />}
    </Group>
  );
}

function Running({ run }: { readonly run: NonNullable<Overview["run"]> }): ReactElement {
  const now = useNow();
  return (
    <>
      <Number name="This run" value={duration(Math.max(0, Math.floor((now - run.startedAt) / 1_000) * 1_000))} />
      <Number
        name="Turns"
        value={run.limits.turns === undefined ? `${run.turns}` : `${run.turns} of ${run.limits.turns}`}
      />
    </>
  );
}

function Number({ name, value }: { readonly name: string; readonly value: string }): ReactElement {
  return (
    <div className="rounded-lg border border-line bg-raised px-3 py-2">
      <dt className="text-[11.5px] text-muted">{name}</dt>
      <dd className="truncate text-[15px] font-bold tabular-nums">{value}</dd>
    </div>
  );
}

function Context({ tokens, size }: { readonly tokens: number; readonly size: number | undefined }): ReactElement {
  const share = size === undefined || size === 0 ? undefined : Math.min(1, tokens / size);
  return (
    <div className="mt-3 text-[12.5px] text-muted">
      <p className="flex justify-between">
        <span>Context</span>
        <span className="tabular-nums">
          {count(tokens)}
          {size !== undefined && ` of ${count(size)}`}
        </span>
      </p>
      {share !== undefined && (
        <div className="mt-1 h-1.5 overflow-hidden rounded-full bg-sunken">
          <div
            className={`h-full rounded-full ${share > 0.8 ? "bg-bad" : "bg-accent"}`}
            style={{ width: `${share * 100}%` }}
          />
        </div>
      )}
    </div>
  );
}

function About({ overview }: { readonly overview: Overview }): ReactElement {
  const { sessionId, key, agent, model, mode, folder, createdAt, head } = overview;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["Id", sessionId],
    ["Key", key],
    ["Agent", agent],
    ["Model", model],
    ["Mode", mode],
    ["Folder", folder],
    ["Begun", wholeTime(createdAt)],
    ["Facts", count(head)],
  ];
  return (
    <Group title="About">
      <dl className="space-y-1 text-[13px]">
        {rows.map(([name, value]) =>
          value === undefined ? null : (
            <div key={name} className="flex gap-3">
              <dt className="w-14 shrink-0 text-muted">{name}</dt>
              <dd className="min-w-0 flex-1 font-mono text-[12px] leading-5 break-all">{value}</dd>
              {name === "Id" && <CopyButton text={value ?? ""} name="Copy the id" />}
            </div>
          ),
        )}
      </dl>
    </Group>
  );
}
