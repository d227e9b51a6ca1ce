/** One open question with everything that can be answered to it. */

import { type ReactElement, useState } from "react";
import type { Answer, OpenRequest, RequestBody } from "@capstan/core";
import { messageOf } from "../api/connection.ts";
import { duration } from "../format.ts";
import { useSessions, useShared } from "../view/console-context.ts";
import { hashOf } from "../data/route.ts";
import { Icon, type IconName } from "../view/icon.tsx";
import { useNow } from "../view/now.ts";
import { nameOf } from "../data/session-tree.ts";
import { ClientToolRequest } from "./client-tool-request.tsx";
import { DoubtRequest } from "./doubt-request.tsx";
import { FormRequest } from "./form-request.tsx";
import { PermissionRequest } from "./permission-request.tsx";
import { PlanRequest } from "./plan-request.tsx";
import { QuestionRequest } from "./question-request.tsx";

/** Resolves when the answer is durable; shows itself what went wrong. */
export type Respond = (answer: Answer) => void;

const HEADS: { readonly [type in RequestBody["type"]]: readonly [IconName, string] } = {
  permission: ["hand", "Permission"],
  question: ["chat", "Question"],
  form: ["list", "Form"],
  plan: ["plan", "Plan to approve"],
  "client-tool": ["wrench", "Result wanted"],
  doubt: ["bolt", "Did it happen?"],
};

type Props = { readonly request: OpenRequest; readonly foreign: boolean };

export function RequestCard({ request, foreign }: Props): ReactElement {
  const { connection, list } = useShared();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const { requestId, sessionId, body } = request;
  const [icon, word] = HEADS[body.type];
  const respond = async (answer: Answer): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      const path = `sessions/${encodeURIComponent(sessionId)}/respond`;
      await connection.ask(path, { method: "POST", body: { requestId, answer } });
      void list.refresh();
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  return (
    <article aria-label={word} data-request={body.type}>
      <header className="mb-2 flex flex-wrap items-center gap-x-2 gap-y-1">
        <span className="flex items-center gap-1.5 font-bold text-accent">
          <Icon name={icon} /> {word}
        </span>
        {foreign && <FromSession sessionId={sessionId} />}
        <span className="flex-1" />
        <Expiry at={request.expiresAt} />
      </header>
      <fieldset disabled={busy} className="min-w-0">
        <RequestForm body={body} respond={(answer) => void respond(answer)} />
      </fieldset>
      {problem !== undefined && (
        <p role="alert" className="mt-2 text-[13px] text-bad">
          {problem}
        </p>
      )}
    </article>
  );
}

function RequestForm({ body, respond }: { readonly body: RequestBody; readonly respond: Respond }): ReactElement {
  switch (body.type) {
    case "permission":
      return <PermissionRequest body={body} respond={respond} />;
    case "question":
      return <QuestionRequest body={body} respond={respond} />;
    case "form":
      return <FormRequest body={body} respond={respond} />;
    case "plan":
      return <PlanRequest body={body} respond={respond} />;
    case "client-tool":
      return <ClientToolRequest body={body} respond={respond} />;
    case "doubt":
      return <DoubtRequest body={body} respond={respond} />;
    default:
      return body satisfies never;
  }
}

function FromSession({ sessionId }: { readonly sessionId: string }): ReactElement {
  const { sessions } = useSessions();
  const session = sessions.find((one) => one.sessionId === sessionId);
  return (
    <a href={hashOf({ page: "session", sessionId })} className="chip max-w-48 bg-sunken text-soft underline">
      <Icon name="tree" size={12} />
      <span className="truncate">{session === undefined ? sessionId : nameOf(session)}</span>
    </a>
  );
}

const SOON_MS = 60_000;

function Expiry({ at }: { readonly at: number }): ReactElement | null {
  const left = at - useNow();
  if (left > 86_400_000 * 365) return null;
  return (
    <span className={`text-[12px] tabular-nums ${left < SOON_MS ? "font-semibold text-bad" : "text-muted"}`}>
      {left <= 0 ? "expired" : `expires in ${duration(Math.floor(left / 1_000) * 1_000)}`}
    </span>
  );
}
