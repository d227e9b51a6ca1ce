/** Where one speaks to a session: sends, or, while it works, queues, steers or interrupts. */

import { type KeyboardEvent, type ReactElement, useState } from "react";
import type { Overview } from "../data/overview.ts";
import { saidText } from "../format.ts";
import { Icon } from "./icon.tsx";
import { useSending, type When } from "./sending.ts";

const WHENS: readonly (readonly [When, string, string])[] = [
  ["queue", "Queue", "Runs after what goes on now"],
  ["steer", "Steer", "The model reads it at the end of its turn"],
  ["interrupt", "Interrupt", "Ends what goes on now, then runs"],
];

export function Composer({ overview }: { readonly overview: Overview }): ReactElement {
  const { sessionId, run, queue } = overview;
  const { busy, problem, send, stop, withdraw } = useSending(sessionId);
  const [text, setText] = useState("");
  const [when, setWhen] = useState<When>("queue");
  const working = run !== undefined || queue.length > 0;
  const word = working ? (WHENS.find(([value]) => value === when)?.[1] ?? "Send") : "Send";
  const submit = async (): Promise<void> => {
    if (text.trim() === "" || busy) return;
    if (await send(text, working ? when : "queue")) setText("");
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void submit();
  };
  return (
    <form
      className="border-t border-line bg-panel px-3 pt-2.5 pb-3 sm:px-6"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <div className="mx-auto max-w-3xl">
        <Queue queue={queue} withdraw={withdraw} />
        <label htmlFor="message" className="sr-only">
          Message
        </label>
        <div className="rounded-xl border border-line bg-raised shadow-card focus-within:border-accent">
          <textarea
            id="message"
            value={text}
            rows={Math.min(8, Math.max(1, text.split("\n").length))}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={onKey}
            placeholder={working ? "Say something meanwhile…" : "Say something…"}
            className="block w-full resize-none bg-transparent px-3.5 pt-2.5 text-[14.5px] outline-none placeholder:text-muted"
          />
          <div className="flex flex-wrap items-center gap-2 px-2 pb-2">
            {working && <Choice when={when} setWhen={setWhen} />}
            <span className="flex-1" />
            {run !== undefined && <Stop stop={stop} />}
            <Submit word={word} short={working} disabled={busy || text.trim() === ""} />
          </div>
        </div>
        {problem !== undefined && (
          <p role="alert" className="mt-1.5 text-[13px] text-bad">
            {problem}
          </p>
        )}
      </div>
    </form>
  );
}

function Stop({ stop }: { readonly stop: () => Promise<boolean> }): ReactElement {
  return (
    <button type="button" className="button danger" onClick={() => void stop()}>
      <Icon name="stop" size={14} /> <span className="sr-only sm:not-sr-only">Stop</span>
    </button>
  );
}

type SubmitProps = { readonly word: string; readonly short: boolean; readonly disabled: boolean };

function Submit({ word, short, disabled }: SubmitProps): ReactElement {
  return (
    <button type="submit" className="button primary" disabled={disabled}>
      <Icon name="send" size={14} />
      <span className={short ? "sr-only sm:not-sr-only" : ""}>{word}</span>
    </button>
  );
}

function Choice({ when, setWhen }: { readonly when: When; readonly setWhen: (when: When) => void }): ReactElement {
  return (
    <div role="radiogroup" aria-label="When it is taken up" className="flex rounded-lg bg-sunken p-0.5">
      {WHENS.map(([value, word, title]) => (
        <label
          key={value}
          title={title}
          className="cursor-pointer rounded-md px-2.5 py-1 text-[12px] font-semibold text-muted has-checked:bg-raised has-checked:text-ink has-checked:shadow-sm has-focus-visible:outline-2 has-focus-visible:outline-accent"
        >
          <input
            type="radio"
            name="when"
            className="sr-only"
            checked={when === value}
            onChange={() => setWhen(value)}
          />
          {word}
        </label>
      ))}
    </div>
  );
}

type Queued = { readonly queue: Overview["queue"]; readonly withdraw: (inputId: string) => Promise<boolean> };

function Queue({ queue, withdraw }: Queued): ReactElement | null {
  if (queue.length === 0) return null;
  return (
    <ul aria-label="Queued" className="mb-2 max-h-28 space-y-1 overflow-auto">
      {queue.map(({ inputId, parts, ifBusy }) => (
        <li key={inputId} className="flex items-center gap-2 rounded-lg bg-sunken py-0.5 pr-1 pl-3 text-[13px]">
          <span className="label">{ifBusy === "steer" ? "steer" : "queued"}</span>
          <span className="min-w-0 flex-1 truncate text-soft">{saidText(parts)}</span>
          <button
            type="button"
            className="button quiet min-h-7 px-1"
            aria-label="Take back"
            onClick={() => void withdraw(inputId)}
          >
            <Icon name="cross" size={13} />
          </button>
        </li>
      ))}
    </ul>
  );
}
