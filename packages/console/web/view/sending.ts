/** What the composer does: inputs are sent once whatever happens to the answer. */

import { useRef, useState } from "react";
import type { IfBusy } from "@capstan/core";
import { messageOf } from "../api/connection.ts";
import { newKey } from "../api/new-key.ts";
import { useShared } from "./console-context.ts";

export type When = Exclude<IfBusy, "reject">;
type Sending = {
  readonly busy: boolean;
  readonly problem: string | undefined;
  readonly send: (input: string, ifBusy: When) => Promise<boolean>;
  readonly stop: () => Promise<boolean>;
  readonly withdraw: (inputId: string) => Promise<boolean>;
};

export function useSending(sessionId: string): Sending {
  const { connection, list } = useShared();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  /** The same text is sent under the same key until it was taken: an answer that got lost makes no second run. */
  const key = useRef<{ readonly text: string; readonly id: string }>(undefined);
  const path = `sessions/${encodeURIComponent(sessionId)}`;
  const act = async (work: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await work();
      void list.refresh();
      return true;
    } catch (error) {
      setProblem(messageOf(error));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return {
    busy,
    problem,
    async send(input, ifBusy) {
      const text = `${ifBusy} ${input}`;
      if (key.current?.text !== text) key.current = { text, id: newKey() };
      const idempotencyKey = key.current.id;
      const sent = await act(() =>
        connection.ask(`${path}/send`, { method: "POST", body: { input, ifBusy }, idempotencyKey }),
      );
      if (sent) key.current = undefined;
      return sent;
    },
    stop: () => act(() => connection.ask(`${path}/interrupt`, { method: "POST", body: {} })),
    withdraw: (inputId) => act(() => connection.ask(`${path}/withdraw`, { method: "POST", body: { inputId } })),
  };
}
