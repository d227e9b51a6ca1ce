/** A new session: an agent, and what is said to it first. */

import { type FormEvent, type ReactElement, useEffect, useMemo, useRef, useState } from "react";
import { messageOf } from "../api/connection.ts";
import { newKey } from "./composer.tsx";
import { useSessions, useShared } from "./console-context.ts";
import { go } from "./hash-route.ts";
import { BackToList } from "./shell.tsx";

export function NewSession(): ReactElement {
  const { connection, list } = useShared();
  const agents = useAgents();
  const [agent, setAgent] = useState("");
  const [title, setTitle] = useState("");
  const [input, setInput] = useState("");
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  const key = useRef("");
  const chosen = agent === "" ? (agents[0] ?? "") : agent;
  const begin = async (): Promise<void> => {
    if (busy || chosen === "" || input.trim() === "") return;
    setBusy(true);
    setProblem(undefined);
    if (key.current === "") key.current = newKey();
    const named = title.trim() === "" ? {} : { title: title.trim() };
    try {
      const asking = { method: "POST", body: { agent: chosen, input, ...named }, idempotencyKey: key.current } as const;
      const { sessionId } = await connection.ask<{ sessionId: string }>("send", asking);
      void list.refresh();
      go({ page: "session", sessionId });
    } catch (error) {
      key.current = ""; // whatever is sent next is something else
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void begin();
  };
  return (
    <div className="flex min-h-0 flex-1 flex-col overflow-y-auto">
      <div className="p-3 md:hidden">
        <BackToList />
      </div>
      <form onSubmit={submit} className="m-auto w-full max-w-xl space-y-4 p-6">
        <h1 className="text-xl font-bold tracking-tight">New session</h1>
        <div className="grid gap-3 sm:grid-cols-2">
          <label className="block">
            <span className="label mb-1 block">Agent</span>
            <input list="agents" required value={agent} placeholder={agents[0] ?? "name"} onChange={(event) => setAgent(event.target.value)} className="field" />
            <datalist id="agents">
              {agents.map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </label>
          <label className="block">
            <span className="label mb-1 block">Title</span>
            <input value={title} placeholder="optional" onChange={(event) => setTitle(event.target.value)} className="field" />
          </label>
        </div>
        <label className="block">
          <span className="label mb-1 block">First message</span>
          <textarea
            value={input}
            rows={5}
            onChange={(event) => setInput(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void begin();
            }}
            placeholder="What is to be done?"
            className="field text-[14.5px]"
          />
        </label>
        <div className="flex items-center gap-3">
          <button type="submit" className="button primary" disabled={busy || chosen === "" || input.trim() === ""}>
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
