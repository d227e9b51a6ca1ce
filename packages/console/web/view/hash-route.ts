/** Where in the console somebody is, kept in the part of the address that no server sees. */

import { useSyncExternalStore } from "react";
import { hashOf, parseRoute, type Route } from "../data/route.ts";

export function useRoute(): Route {
  const hash = useSyncExternalStore(subscribe, () => location.hash);
  return parseRoute(hash);
}

export function go(route: Route): void {
  location.hash = hashOf(route);
}

function subscribe(changed: () => void): () => void {
  addEventListener("hashchange", changed);
  return () => removeEventListener("hashchange", changed);
}
