/** Values of a configuration that look like credentials: they never enter log, stream or error (G23). */

import type { McpTransport } from "./server-config.ts";

const NAMES =
  /key|token|secret|pass|pwd|auth|cookie|credential|session|signature|private|\bpat\b|_pat$|dsn|connection/i;

/** Of variables, headers and the query of an address, by their names; and passwords inside addresses. */
export function secretsIn(transport: McpTransport): readonly string[] {
  switch (transport.type) {
    case "in-process":
      return [];
    case "stdio":
      return Object.entries(transport.env).flatMap(namedSecret);
    case "http":
    case "sse":
      return [...Object.entries(transport.headers), ...queryOf(transport.url)].flatMap(namedSecret);
    default:
      return transport satisfies never;
  }
}

function namedSecret([name, value]: readonly [string, string]): readonly string[] {
  const inside = /:\/\/[^\s/@:]*:([^\s@]+)@/.exec(value)?.[1];
  const found = inside === undefined ? [] : [inside];
  if (!NAMES.test(name)) return found;
  const bare = /^(?:Bearer|Basic|Token)\s+(.+)$/i.exec(value)?.[1];
  return bare === undefined ? [...found, value] : [...found, value, bare];
}

/** A refresher may give an address that is none; whoever connects says so. */
function queryOf(url: string): readonly (readonly [string, string])[] {
  return URL.canParse(url) ? [...new URL(url).searchParams] : [];
}
