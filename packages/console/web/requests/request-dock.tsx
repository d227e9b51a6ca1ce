/** What a session asks now, right above where one speaks to it. */

import { type ReactElement, useEffect, useRef, useState } from "react";
import type { OpenRequest } from "@capstan/core";
import { Icon } from "../view/icon.tsx";
import { RequestCard } from "./request-card.tsx";

type Props = { readonly sessionId: string; readonly requests: readonly OpenRequest[] };

export function RequestDock({ sessionId, requests }: Props): ReactElement | null {
  const [at, setAt] = useState(0);
  const box = useRef<HTMLElement>(null);
  const shown = requests[Math.min(at, requests.length - 1)];
  useEffect(() => setAt((before) => Math.min(before, Math.max(0, requests.length - 1))), [requests.length]);
  if (shown === undefined) return null;
  const index = requests.indexOf(shown);
  return (
    <section ref={box} aria-label="Open requests" className="border-t-2 border-accent bg-panel">
      <div className="mx-auto max-h-[55dvh] max-w-3xl overflow-y-auto px-3 py-3 sm:px-6">
        {requests.length > 1 && (
          <div className="mb-2 flex items-center gap-1 text-[12.5px] text-muted">
            <span className="flex-1 font-semibold">
              Request {index + 1} of {requests.length}
            </span>
            <Step name="Previous request" back on={index > 0} go={() => setAt(index - 1)} />
            <Step name="Next request" on={index < requests.length - 1} go={() => setAt(index + 1)} />
          </div>
        )}
        <RequestCard key={shown.requestId} request={shown} foreign={shown.sessionId !== sessionId} />
      </div>
    </section>
  );
}

type StepProps = { readonly name: string; readonly on: boolean; readonly back?: boolean; readonly go: () => void };

function Step({ name, on, back = false, go }: StepProps): ReactElement {
  return (
    <button type="button" aria-label={name} disabled={!on} onClick={go} className="button quiet min-h-7 px-1.5">
      <span className={back ? "rotate-180" : ""}>
        <Icon name="chevron" size={14} />
      </span>
    </button>
  );
}
