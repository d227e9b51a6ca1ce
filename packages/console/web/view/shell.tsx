/** The frame: sessions on the left, what is looked at on the right; on a narrow screen one of both. */

import { type ReactElement, useEffect } from "react";
import { useSessions } from "./console-context.ts";
import type { Route } from "../data/route.ts";
import { go, useRoute } from "./hash-route.ts";
import { Inbox } from "./inbox.tsx";
import { NewSession } from "./new-session.tsx";
import { SessionView } from "./session-view.tsx";
import { Sidebar } from "./sidebar.tsx";

export function Shell(): ReactElement {
  const route = useRoute();
  const { requests, problem } = useSessions();
  const home = route.page === "home";
  useEffect(() => {
    document.title = requests.length === 0 ? "Capstan" : `(${requests.length}) Capstan`;
  }, [requests.length]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (!event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.code === "KeyN") go({ page: "new" });
      else if (event.code === "KeyI") go({ page: "inbox" });
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    <div className="flex h-full flex-col">
      <a href="#main" onClick={skip} className="button absolute top-1 left-1 z-50 -translate-y-20 focus:translate-y-0">
        Skip to the session
      </a>
      {problem !== undefined && (
        <p role="status" className="bg-bad-wash px-4 py-1.5 text-center text-[13px] font-medium text-bad">
          {problem}. Trying again.
        </p>
      )}
      <div className="flex min-h-0 flex-1">
        <div className={`${home ? "flex" : "hidden"} w-full shrink-0 border-line md:flex md:w-72 md:border-r xl:w-80`}>
          <Sidebar route={route} />
        </div>
        <main id="main" tabIndex={-1} className={`${home ? "hidden md:flex" : "flex"} min-w-0 flex-1 outline-none`}>
          <Page route={route} />
        </main>
      </div>
    </div>
  );
}

function Page({ route }: { readonly route: Route }): ReactElement {
  switch (route.page) {
    case "home":
    case "new":
      return <NewSession />;
    case "inbox":
      return <Inbox />;
    default:
      return <SessionView key={route.sessionId} route={route} />;
  }
}

/** The hash is the route: the jump is made by hand. */
function skip(event: { preventDefault(): void }): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}
