/** What every view of a signed-in page shares: the connection and the list of sessions. */

import { createContext, use, useSyncExternalStore } from "react";
import type { Connection } from "../api/connection.ts";
import type { SessionList, SessionListFeed } from "../data/session-list.ts";

export type Shared = { readonly connection: Connection; readonly list: SessionListFeed; readonly logOut: () => void };

export const ConsoleContext = createContext<Shared | undefined>(undefined);

export function useShared(): Shared {
  const shared = use(ConsoleContext);
  if (shared === undefined) throw new Error("outside of the signed-in page");
  return shared;
}

export function useSessions(): SessionList {
  const { list } = useShared();
  return useSyncExternalStore(list.subscribe, list.snapshot);
}
