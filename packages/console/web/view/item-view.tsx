/** One thing of a conversation. */

import { memo, type ReactElement } from "react";
import type { PlanEntry } from "@capstan/core";
import type { AnsweredItem, EndItem, Item, NoteItem, UserItem } from "../data/item.ts";
import type { Notice } from "../data/session-feed.ts";
import { clockTime, cost, count, duration } from "../format.ts";
import { tokensOf } from "../data/overview.ts";
import { CallCard } from "./call-card.tsx";
import { Icon } from "./icon.tsx";
import { Markdown } from "./markdown.tsx";
import { PartView } from "./part-view.tsx";

export const ItemView = memo(function ItemView({ item }: { readonly item: Item }): ReactElement {
  return (
    <div data-seq={item.seq} data-kind={item.kind}>
      <Body item={item} />
    </div>
  );
});

function Body({ item }: { readonly item: Item }): ReactElement {
  switch (item.kind) {
    case "user":
      return <User item={item} />;
    case "text":
      return (
        <div className="my-4">
          <Markdown text={item.text} live={item.live} />
        </div>
      );
    case "reasoning":
      return <Reasoning text={item.text} live={item.live} />;
    case "call":
      return <CallCard item={item} />;
    case "answered":
      return <Answered item={item} />;
    case "end":
      return <End item={item} />;
    case "plan":
      return <Plan entries={item.entries} />;
    case "note":
      return <Note item={item} />;
    default:
      return item satisfies never;
  }
}

function User({ item }: { readonly item: UserItem }): ReactElement {
  return (
    <article aria-label="You" className="my-5 rounded-xl border border-line bg-raised px-4 py-3 shadow-card">
      <p className="mb-1 flex items-center gap-2 text-[12px] text-muted">
        <span className="font-bold text-accent">{item.steer ? "You, while it worked" : "You"}</span>
        <time dateTime={new Date(item.at).toISOString()}>{clockTime(item.at)}</time>
      </p>
      <div className="space-y-2 text-[14.5px] leading-relaxed break-words whitespace-pre-wrap">
        {item.parts.map((part, index) => (
          // parts of a message never change places
          <PartView key={index} part={part} />
        ))}
      </div>
    </article>
  );
}

function Reasoning({ text, live }: { readonly text: string; readonly live: boolean }): ReactElement {
  return (
    <details className="group my-2 text-[13px] text-muted" open={live}>
      <summary className="inline-flex items-center gap-1.5 rounded-md py-1 pr-2 hover:text-ink">
        <Icon name="think" size={15} />
        <span className="font-semibold">{live ? "Thinking" : "Thought"}</span>
        <span className="transition-transform group-open:rotate-90">
          <Icon name="chevron" size={12} />
        </span>
      </summary>
      <p className="border-l-2 border-line py-1 pl-3 leading-relaxed break-words whitespace-pre-wrap italic">{text}</p>
    </details>
  );
}

function Answered({ item }: { readonly item: AnsweredItem }): ReactElement {
  const { answer, by } = item;
  const no = ("allow" in answer && !answer.allow) || ("decline" in answer && answer.decline === true);
  return (
    <p className="my-1.5 flex items-center gap-2 pl-1 text-[12.5px] text-muted">
      <span className={no ? "text-bad" : "text-good"}>
        <Icon name={no ? "cross" : "check"} size={14} />
      </span>
      <span className="min-w-0 truncate">
        {answerWords(item)} <span className="opacity-80">by {by}</span>
      </span>
    </p>
  );
}

function answerWords({ request, answer }: AnsweredItem): string {
  switch (answer.type) {
    case "permission":
    case "plan": {
      const what = request.type === "permission" ? request.title : "the plan";
      const scope = answer.remember === undefined ? "" : ` and remembered for this ${answer.remember}`;
      const why = answer.reason === undefined ? "" : `: ${answer.reason}`;
      return `${answer.allow ? "Allowed" : "Refused"} ${what}${scope}${why}`;
    }
    case "question":
      return Object.entries(answer.answers)
        .map(([header, value]) => `${header}: ${typeof value === "string" ? value : value.join(", ")}`)
        .join("; ");
    case "form":
      return answer.decline === true ? "Form declined" : "Form sent";
    case "client-tool":
      return "Result given";
    case "doubt":
      return { "run-again": "To be run again", "it-happened": "It did happen", skip: "Left out" }[answer.outcome];
    default:
      return answer satisfies never;
  }
}

function End({ item }: { readonly item: EndItem }): ReactElement {
  const { reason, usage, turns, ms, error } = item;
  const fine = reason === "end-turn";
  const price = cost(usage);
  const numbers = [
    ms === undefined ? [] : duration(ms),
    `${turns} ${turns === 1 ? "turn" : "turns"}`,
    `${count(tokensOf(usage))} tokens`,
    price ?? [],
  ].flat();
  return (
    <div className="my-5">
      <p className="flex items-center gap-3 text-[12px] text-muted">
        <span className="h-px flex-1 bg-line" />
        {!fine && <span className={`font-semibold ${error === undefined ? "text-accent" : "text-bad"}`}>{reason}</span>}
        <span>{numbers.join(" · ")}</span>
        <span className="h-px flex-1 bg-line" />
      </p>
      {error !== undefined && (
        <p className="mt-2 rounded-lg bg-bad-wash px-3 py-2 text-[13px] break-words text-bad">
          <strong>{error.code}</strong>: {error.message}
        </p>
      )}
    </div>
  );
}

export function Plan({ entries }: { readonly entries: readonly PlanEntry[] }): ReactElement {
  return (
    <ol aria-label="Plan" className="my-3 space-y-1 rounded-xl border border-line bg-panel px-4 py-3 text-[13.5px]">
      {entries.map(({ content, status }, index) => (
        <li key={index} className="flex items-start gap-2">
          <span
            className={`mt-0.5 ${status === "completed" ? "text-good" : status === "in-progress" ? "text-accent" : "text-muted"}`}
          >
            <Icon name={status === "completed" ? "check" : status === "in-progress" ? "bolt" : "list"} size={14} />
          </span>
          <span className={status === "completed" || status === "cancelled" ? "text-muted line-through" : ""}>
            {content}
          </span>
          <span className="sr-only">({status})</span>
        </li>
      ))}
    </ol>
  );
}

const TONES = {
  info: "bg-sunken text-soft",
  warning: "bg-accent-wash text-accent",
  error: "bg-bad-wash text-bad",
} as const;

function Note({
  item: { tone, title, detail },
}: {
  readonly item: Pick<NoteItem, "tone" | "title" | "detail">;
}): ReactElement {
  const look = `my-3 rounded-lg px-3 py-1.5 text-[13px] ${TONES[tone]}`;
  if (detail === undefined || detail === "") return <p className={look}>{title}</p>;
  return (
    <details className={look}>
      <summary className="font-semibold">{title}</summary>
      <p className="mt-1 max-h-72 overflow-auto break-words whitespace-pre-wrap">{detail}</p>
    </details>
  );
}

export function Notes({ notices }: { readonly notices: readonly Notice[] }): ReactElement {
  return (
    <>
      {notices.map(({ seq, eph, severity, title, detail }) => (
        <Note key={`${seq}.${eph}`} item={{ tone: severity, title, ...(detail !== undefined && { detail }) }} />
      ))}
    </>
  );
}
