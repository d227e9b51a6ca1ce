/** A tool without a body of its own: whoever is here says what came of the call. */

import { type ReactElement, useState } from "react";
import type { RequestBody } from "@capstan/core";
import { InputView } from "../view/input-view.tsx";
import type { Respond } from "./request-card.tsx";

type Body = Extract<RequestBody, { readonly type: "client-tool" }>;

export function ClientToolRequest({ body, respond }: { readonly body: Body; readonly respond: Respond }): ReactElement {
  const [text, setText] = useState("");
  const [failed, setFailed] = useState(false);
  const send = (): void =>
    respond({ type: "client-tool", output: { content: [{ type: "text", text }], ...(failed && { isError: true }) } });
  return (
    <div className="space-y-2.5">
      <p>
        The model called <code className="font-mono text-[12.5px] font-semibold">{body.tool}</code> and waits for its
        result.
      </p>
      <InputView input={body.input} />
      <textarea
        aria-label="Result"
        placeholder="Result, as text or JSON"
        value={text}
        rows={3}
        onChange={(event) => setText(event.target.value)}
        className="field code"
      />
      <div className="flex flex-wrap items-center gap-3">
        <button type="button" className="button primary" onClick={send}>
          Give the result
        </button>
        <label className="flex cursor-pointer items-center gap-1.5 text-[13px]">
          <input type="checkbox" className="accent-accent" checked={failed} onChange={() => setFailed(!failed)} />
          The call failed
        </label>
      </div>
    </div>
  );
}
