/** A call of a tool: one line, and all of it when it is opened. */

import { type ReactElement, useState } from "react";
import type { CallItem, CallStatus } from "../data/item.ts";
import type { ToolKind } from "@capstan/core";
import { duration, inputLine } from "../format.ts";
import { hashOf } from "../data/route.ts";
import { Icon, type IconName } from "./icon.tsx";
import { InputView } from "./input-view.tsx";
import { ToolOutputView } from "./tool-output-view.tsx";

const ICONS: { readonly [kind in ToolKind]: IconName } = {
  read: "file",
  edit: "edit",
  delete: "cross",
  move: "file",
  search: "search",
  execute: "terminal",
  think: "think",
  fetch: "web",
  "switch-mode": "plan",
  other: "wrench",
};

const LOOK: { readonly [status in CallStatus]: readonly [word: string, look: string] } = {
  writing: ["writing", "bg-sunken text-muted"],
  proposed: ["waiting", "bg-sunken text-muted"],
  asking: ["needs you", "bg-accent-wash text-accent"],
  running: ["running", "bg-good-wash text-good"],
  ok: ["done", "bg-sunken text-muted"],
  error: ["failed", "bg-bad-wash text-bad"],
  denied: ["refused", "bg-bad-wash text-bad"],
  cancelled: ["cancelled", "bg-sunken text-muted"],
  timeout: ["timed out", "bg-bad-wash text-bad"],
  unknown: ["outcome unknown", "bg-accent-wash text-accent"],
};

export function CallCard({ item }: { readonly item: CallItem }): ReactElement {
  const { status, toolKind, durationMs, childSessionId, output } = item;
  const hasDiff = output?.content.some(({ type }) => type === "diff") === true;
  const [open, setOpen] = useState<boolean>();
  const shown = open ?? (hasDiff || status === "running");
  const [word, look] = LOOK[status];
  return (
    <div className="my-2 overflow-hidden rounded-xl border border-line bg-panel">
      <div className="flex items-center">
        <button
          type="button"
          aria-expanded={shown}
          onClick={() => setOpen(!shown)}
          className="flex min-w-0 flex-1 items-center gap-2.5 px-3 py-2 text-left hover:bg-sunken"
        >
          <span className={status === "running" ? "text-good" : "text-muted"}>
            <Icon name={ICONS[toolKind]} />
          </span>
          <Title item={item} />
          {durationMs !== undefined && status === "ok" ? (
            <span className="shrink-0 text-[12px] text-muted tabular-nums">
              <span className="sr-only">done in </span>
              {duration(durationMs)}
            </span>
          ) : (
            <span className={`chip shrink-0 ${look}`}>{word}</span>
          )}
          <span className={`text-muted ${shown ? "rotate-90" : ""}`}>
            <Icon name="chevron" size={13} />
          </span>
        </button>
        {childSessionId !== undefined && (
          <a href={hashOf({ page: "session", sessionId: childSessionId })} className="button quiet mr-1.5">
            <Icon name="tree" size={15} /> Open
          </a>
        )}
      </div>
      {shown && <Inside item={item} />}
    </div>
  );
}

function Title({ item: { name, title, input } }: { readonly item: CallItem }): ReactElement {
  const line = title === name ? inputLine(input) : title;
  return (
    <span className="flex min-w-0 flex-1 items-baseline gap-2">
      <span className="shrink-0 font-mono text-[12.5px] font-semibold">{name}</span>
      <span className="truncate font-mono text-[12px] text-muted">{line}</span>
    </span>
  );
}

function Inside({ item }: { readonly item: CallItem }): ReactElement {
  const { input, progress, output, by, confinement } = item;
  return (
    <div className="space-y-2 border-t border-line px-3 py-2.5">
      <InputView input={input} />
      {progress !== "" && (
        <pre className="well code max-h-72" aria-label="Progress" tabIndex={0}>
          {progress}
        </pre>
      )}
      {output !== undefined && <ToolOutputView output={output} />}
      {(by !== undefined || (confinement !== undefined && confinement !== "none")) && (
        <p className="text-[12px] text-muted">
          {by !== undefined && `Answered by ${by}. `}
          {confinement !== undefined && confinement !== "none" && `Confined by ${confinement}.`}
        </p>
      )}
    </div>
  );
}
