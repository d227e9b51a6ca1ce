/** A new session: an agent, and what is said to it first. */

import { type FormEvent, type ReactElement, useEffect, useMemo, useRef, useState } from "react";
import { messageOf } from "../api/connection.ts";
import { newKey } from "../api/new-key.ts";
import { BackToList } from "./back-to-list.tsx";
import { useSessions, useShared } from "./console-context.ts";
import { go } from "./hash-route.ts";

export function NewSession(): ReactElement {
  const agents = useAgents();
  const [agent, setAgent] = useState("");
  const [title, setTitle] = useState("");
  const [input, setInput] = useState("");
  const { busy, problem, begin: send } = useBeginning();
  const chosen = agent === "" ? (agents[0] ?? "") : agent;
  const disabled = busy || chosen === "" || input.trim() === "";
  const begin = (): void => {
    if (!disabled) void send({ agent: chosen, input, ...(title.trim() !== "" && { title: title.trim() }) });
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    begin();
  };
  return (
    <div className="flex min-h-0 flex-1 flex-col overflow-y-auto">
      <div className="p-3 md:hidden">
        <BackToList />
      </div>
      <form onSubmit={submit} className="m-auto w-full max-w-xl space-y-4 p-6">
        <h1 className="text-xl font-bold tracking-tight">New session</h1>
        <Names agents={agents} agent={agent} setAgent={setAgent} title={title} setTitle={setTitle} />
        <label className="block">
          <span className="label mb-1 block">First message</span>
          <textarea
            value={input}
            rows={5}
            onChange={(event) => setInput(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) begin();
            }}
            placeholder="What is to be done?"
            className="field text-[14.5px]"
          />
        </label>
        <div className="flex items-center gap-3">
          <button type="submit" className="button primary" disabled={disabled}>
            {busy ? "Beginning…" : "Begin"}
          </button>
          <span className="hidden text-[12.5px] text-muted sm:block">Ctrl+Enter</span>
          <p role="alert" className="min-w-0 flex-1 text-[13px] text-bad">
            {problem}
          </p>
        </div>
      </form>
    </div>
  );
}

type NamesProps = {
  readonly agents: readonly string[];
  readonly agent: string;
  readonly setAgent: (agent: string) => void;
  readonly title: string;
  readonly setTitle: (title: string) => void;
};

function Names({ agents, agent, setAgent, title, setTitle }: NamesProps): ReactElement {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <label className="block">
        <span className="label mb-1 block">Agent</span>
        {agents.length > 0 ? (
          <select value={agent} onChange={(event) => setAgent(event.target.value)} className="field">
            {agents.map((name, index) => (
              <option key={name} value={index === 0 ? "" : name}>
                {name}
              </option>
            ))}
          </select>
        ) : (
          <input
            required
            value={agent}
            placeholder="name"
            onChange={(event) => setAgent(event.target.value)}
            className="field"
          />
        )}
      </label>
      <label className="block">
        <span className="label mb-1 block">Title</span>
        <input
          value={title}
          placeholder="optional"
          onChange={(event) => setTitle(event.target.value)}
          className="field"
        />
      </label>
    </div>
  );
}

type Beginning = {
  readonly busy: boolean;
  readonly problem: string | undefined;
  readonly begin: (body: object) => Promise<void>;
};

function useBeginning(): Beginning {
  const { connection, list } = useShared();
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  /** The same words are sent under the same key: an answer that got lost makes no second session. */
  const key = useRef<{ readonly body: string; readonly id: string }>(undefined);
  const begin = async (body: object): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    const text = JSON.stringify(body);
    if (key.current?.body !== text) key.current = { body: text, id: newKey() };
    try {
      const asking = { method: "POST", body, idempotencyKey: key.current.id } as const;
      const { sessionId } = await connection.ask<{ sessionId: string }>("send", asking);
      void list.refresh();
      go({ page: "session", sessionId });
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  return { busy, problem, begin };
}

/** Those the server names first, then those of the sessions. */
function useAgents(): readonly string[] {
  const { connection } = useShared();
  const { sessions } = useSessions();
  const [named, setNamed] = useState<readonly string[]>([]);
  useEffect(() => {
    const stop = new AbortController();
    connection
      .ask<{ agents: readonly string[] }>("agents", { signal: stop.signal })
      .then(({ agents }) => setNamed(agents))
      .catch(() => undefined); // a server that names none
    return () => stop.abort();
  }, [connection]);
  return useMemo(() => {
    const used = sessions.filter(({ parent }) => parent === undefined).map(({ agent }) => agent);
    return [...new Set([...named, ...used])];
  }, [named, sessions]);
}
