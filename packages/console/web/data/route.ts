/** Places in the console, and how they are written in an address. */

export type Route =
  | { readonly page: "home" | "new" | "inbox" }
  | { readonly page: "session" | "inspect"; readonly sessionId: string; readonly seq?: number };

export function hashOf(route: Route): string {
  if (!("sessionId" in route)) return route.page === "home" ? "#/" : `#/${route.page}`;
  const seq = route.seq === undefined ? "" : `/${route.seq}`;
  return `#/${route.page}/${encodeURIComponent(route.sessionId)}${seq}`;
}

export function parseRoute(hash: string): Route {
  const [, page = "", id, seq] = hash.split("/");
  if (page === "new" || page === "inbox") return { page };
  if ((page !== "session" && page !== "inspect") || id === undefined || id === "") return { page: "home" };
  const at = Number(seq);
  return { page, sessionId: decoded(id), ...(Number.isSafeInteger(at) && at > 0 && { seq: at }) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
