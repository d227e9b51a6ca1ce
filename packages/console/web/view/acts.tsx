/** What can be done with a session: another title, a fork, its removal. */

import { type ReactElement, useState } from "react";
import { messageOf } from "../api/connection.ts";
import type { Overview } from "../data/overview.ts";
import { nameOf } from "../data/session-tree.ts";
import { useShared } from "./console-context.ts";
import { Group } from "./group.tsx";
import { go } from "./hash-route.ts";
import { Icon } from "./icon.tsx";

export function Acts({ overview }: { readonly overview: Overview }): ReactElement {
  const { sessionId, title = "" } = overview;
  const { connection } = useShared();
  const [name, setName] = useState(title);
  const [sure, setSure] = useState(false);
  const { problem, act } = useActs();
  const path = `sessions/${encodeURIComponent(sessionId)}`;
  const rename = async (): Promise<void> => connection.ask(path, { method: "PATCH", body: { title: name.trim() } });
  const fork = async (): Promise<void> => {
    const { id } = await connection.ask<{ id: string }>(`${path}/fork`, { method: "POST", body: {} });
    go({ page: "session", sessionId: id });
  };
  const remove = async (): Promise<void> => {
    await connection.ask(path, { method: "DELETE" });
    go({ page: "home" });
  };
  return (
    <Group title="Actions">
      <form
        className="mb-2 flex gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          act(rename);
        }}
      >
        <input
          aria-label="Title"
          placeholder={nameOf(overview)}
          value={name}
          onChange={(event) => setName(event.target.value)}
          className="field"
        />
        <button type="submit" className="button" disabled={name.trim() === "" || name.trim() === title}>
          Rename
        </button>
      </form>
      <div className="flex gap-2">
        <button type="button" className="button" onClick={() => act(fork)}>
          <Icon name="fork" size={14} /> Fork
        </button>
        <button
          type="button"
          className="button danger"
          onBlur={() => setSure(false)}
          onClick={() => (sure ? act(remove) : setSure(true))}
        >
          {sure ? "Really remove?" : "Remove"}
        </button>
      </div>
      <p role="alert" className="mt-1.5 text-[13px] text-bad">
        {problem}
      </p>
    </Group>
  );
}

type Acting = { readonly problem: string | undefined; readonly act: (work: () => Promise<void>) => void };

function useActs(): Acting {
  const { list } = useShared();
  const [problem, setProblem] = useState<string>();
  const act = (work: () => Promise<void>): void => {
    setProblem(undefined);
    void work()
      .then(() => list.refresh())
      .catch((error: unknown) => setProblem(messageOf(error)));
  };
  return { problem, act };
}
