/** A plan that is carried out once somebody agrees. */

import { type ReactElement, useState } from "react";
import type { RequestBody } from "@capstan/core";
import { Markdown } from "../view/markdown.tsx";
import type { Respond } from "./request-card.tsx";

type Body = Extract<RequestBody, { readonly type: "plan" }>;

export function PlanRequest({ body, respond }: { readonly body: Body; readonly respond: Respond }): ReactElement {
  const [why, setWhy] = useState("");
  const reason = why.trim() === "" ? {} : { reason: why.trim() };
  return (
    <div className="space-y-3">
      <div className="well max-h-80 bg-raised px-4 py-3" tabIndex={0} role="region" aria-label="The plan">
        <Markdown text={body.markdown} />
      </div>
      <textarea
        aria-label="What to change"
        placeholder="What to change (the model reads it)"
        value={why}
        rows={2}
        onChange={(event) => setWhy(event.target.value)}
        className="field"
      />
      <div className="flex flex-wrap gap-2">
        <button
          type="button"
          className="button primary"
          onClick={() => respond({ type: "plan", allow: true, ...reason })}
        >
          Approve the plan
        </button>
        <button
          type="button"
          className="button danger"
          onClick={() => respond({ type: "plan", allow: false, ...reason })}
        >
          Send it back
        </button>
      </div>
    </div>
  );
}
