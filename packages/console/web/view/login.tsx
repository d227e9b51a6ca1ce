/** The door of the console: it asks for the token that the server prints where to find. */

import { type FormEvent, type ReactElement, useState } from "react";
import { Connection, DoorError, messageOf } from "../api/connection.ts";

export function Login({ signIn }: { readonly signIn: (token: string) => void }): ReactElement {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const given = token.trim();
    if (!/^[\x21-\x7e]+$/.test(given)) return setProblem("A token is one word of letters, digits and signs.");
    setBusy(true);
    try {
      await new Connection(given, () => undefined).ask("sessions?limit=1");
      signIn(given);
    } catch (error) {
      const wrong = error instanceof DoorError && error.status === 401;
      setProblem(wrong ? "The server does not know this token." : messageOf(error));
      setBusy(false);
    }
  };
  return (
    <main className="flex h-full items-center justify-center overflow-auto p-5">
      <form onSubmit={(event) => void submit(event)} className="w-full max-w-sm">
        <img src="./icon.svg" alt="" width={52} height={52} className="mb-5" />
        <h1 className="text-2xl font-bold tracking-tight">Capstan</h1>
        <p className="mt-1 text-soft">Sessions, live, with what they ask of you.</p>
        <label htmlFor="token" className="label mt-7 mb-1.5 block">
          Access token
        </label>
        <input
          id="token"
          type="password"
          autoComplete="off"
          autoFocus
          spellCheck={false}
          value={token}
          onChange={(event) => setToken(event.target.value)}
          aria-invalid={problem !== undefined}
          aria-describedby="token-help"
          className="field font-mono"
        />
        <p role="alert" className="mt-2 min-h-5 text-[13px] text-bad">
          {problem}
        </p>
        <button type="submit" disabled={busy || token.trim() === ""} className="button primary mt-1 w-full py-2">
          {busy ? "Signing in…" : "Sign in"}
        </button>
        <p id="token-help" className="mt-5 border-t border-line pt-4 text-[13px] text-muted">
          <code className="font-mono text-[12px] text-soft">capstan serve</code> says which file holds the token. It
          stays in this tab and is forgotten when the tab is closed.
        </p>
      </form>
    </main>
  );
}
