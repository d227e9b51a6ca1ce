/** The page: the login, or the console of whoever is signed in. */

import { type ReactElement, useCallback, useEffect, useState } from "react";
import { Connection, storedToken, storeToken } from "../api/connection.ts";
import { SessionListFeed } from "../data/session-list.ts";
import { ConsoleContext, type Shared } from "./console-context.ts";
import { Login } from "./login.tsx";
import { Shell } from "./shell.tsx";

export function App(): ReactElement {
  const [token, setToken] = useState(storedToken);
  const change = useCallback((next: string | undefined) => {
    storeToken(next);
    setToken(next);
  }, []);
  return token === undefined ? <Login signIn={change} /> : <SignedIn key={token} token={token} change={change} />;
}

function SignedIn({
  token,
  change,
}: {
  readonly token: string;
  readonly change: (token: string | undefined) => void;
}): ReactElement | null {
  const [shared, setShared] = useState<Shared>();
  useEffect(() => {
    const logOut = (): void => change(undefined);
    const connection = new Connection(token, logOut);
    const list = new SessionListFeed(connection);
    setShared({ connection, list, logOut });
    return () => list.close();
  }, [token, change]);
  if (shared === undefined) return null;
  return (
    <ConsoleContext value={shared}>
      <Shell />
    </ConsoleContext>
  );
}
