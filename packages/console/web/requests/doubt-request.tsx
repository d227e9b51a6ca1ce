/** A call that a crash cut short: only a person can find out whether it happened. */

import type { ReactElement } from "react";
import type { RequestBody } from "@capstan/core";
import { wholeTime } from "../format.ts";
import { InputView } from "../view/input-view.tsx";
import type { Respond } from "./request-card.tsx";

type Body = Extract<RequestBody, { readonly type: "doubt" }>;

const OUTCOMES = [
  ["it-happened", "It happened", "Go on as if it was done"],
  ["run-again", "Run it again", "It did not happen, or may happen twice"],
  ["skip", "Leave it out", "The model is told that nobody knows"],
] as const;

export function DoubtRequest({ body, respond }: { readonly body: Body; readonly respond: Respond }): ReactElement {
  return (
    <div className="space-y-2.5">
      <p>
        <code className="font-mono text-[12.5px] font-semibold">{body.tool}</code> was started at{" "}
        {wholeTime(body.startedAt)}, and nobody saw how it ended. Look whether it happened.
      </p>
      <InputView input={body.input} />
      <div className="grid gap-2 sm:grid-cols-3">
        {OUTCOMES.map(([outcome, word, means]) => (
          <button
            key={outcome}
            type="button"
            onClick={() => respond({ type: "doubt", outcome })}
            className="button flex-col items-start gap-0 py-1.5 text-left whitespace-normal"
          >
            {word}
            <span className="text-[12px] font-normal text-muted">{means}</span>
          </button>
        ))}
      </div>
    </div>
  );
}
