/** Where a request came from: the names this server answers to, and the pages that may speak to it. */

import { CapstanError } from "@capstan/core";
import { errorResponse } from "./errors.ts";

export type Guard = {
  /** An answer instead of the work: a refusal, or what a browser asks before it sends. */
  check(request: Request): Response | undefined;
  /** Adds what lets the page of an allowed origin read the answer. */
  open(request: Request, response: Response): void;
};
export type GuardOptions = {
  /** Names in `Host` beside those of the loopback: another one may be a page that points its own name here. */
  readonly hosts?: readonly string[];
  /** Origins of pages of other hosts that may speak to this server. */
  readonly origins?: readonly string[];
};

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);
const METHODS = "GET, POST, PATCH, DELETE";
const HEADERS = "authorization, content-type, idempotency-key, last-event-id";

export function guard({ hosts = [], origins = [] }: GuardOptions): Guard {
  const allowedHosts = new Set(hosts.map((host) => host.toLowerCase()));
  const allowedOrigins = new Set(origins.map((origin) => origin.toLowerCase()));
  const isForeign = (request: Request): boolean => {
    const origin = request.headers.get("origin");
    if (origin === null) return request.headers.get("sec-fetch-site") === "cross-site";
    return !allowedOrigins.has(origin.toLowerCase()) && !isSameHost(origin, request);
  };
  return {
    check(request) {
      const host = hostOf(request);
      if (!LOOPBACK.has(nameOf(host)) && !allowedHosts.has(host) && !allowedHosts.has(nameOf(host)))
        return refused(`This server does not answer to the name ${JSON.stringify(host)}; name it in \`hosts\``);
      if (isForeign(request)) return refused("Pages of this origin may not speak to this server; name it in `origins`");
      if (request.method !== "OPTIONS") return undefined;
      return new Response(null, {
        status: 204,
        headers: {
          "access-control-allow-methods": METHODS,
          "access-control-allow-headers": HEADERS,
          "access-control-max-age": "600",
        },
      });
    },
    open(request, response) {
      const origin = request.headers.get("origin");
      response.headers.append("vary", "Origin");
      if (origin === null || !allowedOrigins.has(origin.toLowerCase())) return;
      response.headers.set("access-control-allow-origin", origin);
      response.headers.set("access-control-allow-credentials", "true");
    },
  };
}

function refused(message: string): Response {
  return errorResponse(new CapstanError("permission-denied", message));
}

function hostOf(request: Request): string {
  return (request.headers.get("host") ?? new URL(request.url).host).toLowerCase();
}

function nameOf(host: string): string {
  return host.replace(/:\d*$/, "");
}

function isSameHost(origin: string, request: Request): boolean {
  return URL.canParse(origin) && new URL(origin).host.toLowerCase() === hostOf(request);
}
