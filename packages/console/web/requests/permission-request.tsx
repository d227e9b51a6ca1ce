/** A call that waits for consent: what it would do, changed if need be, once or remembered. */

import { type ReactElement, useState } from "react";
import type { Json, PermissionRequest as Body, RememberScope } from "@capstan/core";
import { pretty } from "../format.ts";
import { Icon } from "../view/icon.tsx";
import { InputView } from "../view/input-view.tsx";
import type { Respond } from "./request-card.tsx";

const SCOPES: { readonly [scope in RememberScope]: string } = {
  session: "in this session",
  agent: "for this agent",
  global: "everywhere",
};

export function PermissionRequest({ body, respond }: { readonly body: Body; readonly respond: Respond }): ReactElement {
  const { tool, input, title, reason, remember, binding, approvers } = body;
  const [edited, setEdited] = useState<string>();
  const [why, setWhy] = useState("");
  const [scope, setScope] = useState<RememberScope | "once">("once");
  const changed = edited === undefined ? undefined : parsed(edited);
  const wrong = edited !== undefined && changed === undefined;
  const allow = (): void =>
    respond({
      type: "permission",
      allow: true,
      ...(changed !== undefined && { input: changed.value }),
      ...(scope !== "once" && { remember: scope }),
    });
  const refuse = (): void =>
    respond({ type: "permission", allow: false, ...(why.trim() !== "" && { reason: why.trim() }) });
  return (
    <div className="space-y-2.5">
      <p className="text-[14.5px] break-words">
        <code className="rounded bg-sunken px-1.5 py-0.5 font-mono text-[12.5px] font-semibold">{tool}</code>{" "}
        {title !== tool && <span className="font-semibold">{title}</span>}
        {reason !== undefined && <span className="mt-1 block text-[13px] text-soft">{reason}</span>}
        {binding.cwd !== undefined && (
          <span className="mt-0.5 block font-mono text-[12px] text-muted">in {binding.cwd}</span>
        )}
      </p>
      {edited === undefined ? (
        <InputView input={input} />
      ) : (
        <Editor text={edited} wrong={wrong} change={setEdited} drop={() => setEdited(undefined)} />
      )}
      <div className="flex flex-wrap items-center gap-2">
        <button type="button" className="button primary" disabled={wrong} onClick={allow}>
          <Icon name="check" size={15} /> {changed === undefined ? "Allow" : "Allow as changed"}
        </button>
        {remember.length > 0 && <Scope offered={remember} scope={scope} setScope={setScope} />}
        {edited === undefined && (
          <button type="button" className="button quiet" onClick={() => setEdited(pretty(input))}>
            <Icon name="edit" size={14} /> Edit input
          </button>
        )}
        <div className="flex min-w-64 flex-1 justify-end gap-2">
          <input
            aria-label="Reason for refusing"
            placeholder="Why not (the model reads it)"
            value={why}
            onChange={(event) => setWhy(event.target.value)}
            className="field min-w-0 flex-1 sm:max-w-64"
          />
          <button type="button" className="button danger" onClick={refuse}>
            <Icon name="cross" size={15} /> Refuse
          </button>
        </div>
      </div>
      {approvers !== undefined && <p className="text-[12px] text-muted">May be answered by {approvers.join(", ")}</p>}
    </div>
  );
}

type ScopeProps = {
  readonly offered: readonly RememberScope[];
  readonly scope: RememberScope | "once";
  readonly setScope: (scope: RememberScope | "once") => void;
};

function Scope({ offered, scope, setScope }: ScopeProps): ReactElement {
  return (
    <select
      aria-label="For how long"
      value={scope}
      onChange={(event) => setScope(offered.find((one) => one === event.target.value) ?? "once")}
      className="field w-auto"
    >
      <option value="once">once</option>
      {offered.map((one) => (
        <option key={one} value={one}>
          always {SCOPES[one]}
        </option>
      ))}
    </select>
  );
}

type EditorProps = {
  readonly text: string;
  readonly wrong: boolean;
  readonly change: (text: string) => void;
  readonly drop: () => void;
};

function Editor({ text, wrong, change, drop }: EditorProps): ReactElement {
  return (
    <div>
      <textarea
        aria-label="Input as JSON"
        aria-invalid={wrong}
        spellCheck={false}
        value={text}
        rows={Math.min(14, Math.max(3, text.split("\n").length))}
        onChange={(event) => change(event.target.value)}
        className="field code"
      />
      <p className="flex items-center gap-2 text-[12.5px]">
        <span className="flex-1 text-bad">{wrong && "This is not JSON yet."}</span>
        <button type="button" className="button quiet min-h-7" onClick={drop}>
          Leave it as it was
        </button>
      </p>
    </div>
  );
}

/** `undefined` for a text that is no JSON. */
export function parsed(text: string): { readonly value: Json } | undefined {
  try {
    return { value: JSON.parse(text) as Json };
  } catch {
    return undefined;
  }
}
