/**
 * `fetch` for the servers of a configuration and their sign-in: where it may connect is decided before each request, and no
 * body is larger than a message may be (G12, G21).
 */

import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import { messageOf } from "@capstan/core";
import type { FetchLike } from "@modelcontextprotocol/client";
import { MCP_LIMITS } from "../limits.ts";
import { NotSent } from "./send-failure.ts";

/** Networks that nobody outside may send a client to. */
const PRIVATE = new BlockList();
for (const [network, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["224.0.0.0", 3],
] as const)
  PRIVATE.addSubnet(network, bits, "ipv4");
for (const [network, bits] of [
  ["::", 96],
  ["64:ff9b::", 96],
  ["64:ff9b:1::", 48],
  ["100::", 64],
  ["2001::", 32],
  ["2002::", 16],
  ["fc00::", 7],
  ["fe80::", 10],
  ["fec0::", 10],
  ["ff00::", 8],
] as const)
  PRIVATE.addSubnet(network, bits, "ipv6");

/**
 * Requests to the server's own origin go where its configuration says. Any other origin (of a sign-in server, whose address
 * the MCP server names) is reached over https at public addresses only, unless the server itself is on a private network.
 */
export function guardedFetch(serverUrl: URL, resolve: Resolve = byName): FetchLike {
  return async (input, init) => {
    let url = new URL(input);
    for (let redirects = 0; ; redirects += 1) {
      if (url.origin !== serverUrl.origin) await checkForeign(url, serverUrl, resolve);
      const response = bounded(await fetch(url, { ...init, redirect: "manual" }));
      const to = response.headers.get("location");
      const followed =
        init?.redirect !== "manual" && (init?.method ?? "GET") === "GET" && /^30[12378]$/.test(String(response.status));
      if (!followed || to === null || redirects >= MAX_REDIRECTS) return response;
      await response.body?.cancel();
      const next = new URL(to, url);
      if (next.origin !== url.origin) throw new NotSent(`${url.origin} leads to ${next.origin}, which is not followed`);
      url = next;
    }
  };
}

const MAX_REDIRECTS = 3;

async function checkForeign(url: URL, serverUrl: URL, resolve: Resolve): Promise<void> {
  const home = await addressesOf(serverUrl.hostname, resolve);
  // a server on this machine or network may name others there; one with a public address beside a private one is neither
  if (home.length > 0 && home.every(isPrivateAddress)) return;
  if (url.protocol !== "https:") throw new NotSent(`${url.origin} is not reached over https`);
  if ((await addressesOf(url.hostname, resolve)).some(isPrivateAddress))
    throw new NotSent(`${url.origin} is on a private network, and ${serverUrl.origin} is not`);
}

type Resolve = (host: string) => Promise<readonly { readonly address: string }[]>;
const byName: Resolve = (host) => lookup(host, { all: true });

async function addressesOf(hostname: string, resolve: Resolve): Promise<readonly string[]> {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0) return [host];
  try {
    return (await resolve(host)).map(({ address }) => address);
  } catch (error) {
    throw new NotSent(`${host} cannot be found: ${messageOf(error)}`);
  }
}

function isPrivateAddress(address: string): boolean {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return PRIVATE.check(mapped, "ipv4");
  return PRIVATE.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

/** The same response, whose body fails once it is too large. Of a stream of events each event counts for itself. */
function bounded(response: Response): Response {
  if (response.body === null) return response;
  const streamed = response.headers.get("content-type")?.includes("text/event-stream") === true;
  const limit = MCP_LIMITS.messageBytes;
  let held = 0;
  const gate = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const lastEnd = streamed ? chunk.lastIndexOf(10) : -1; // a line is at most one message
      held = lastEnd < 0 ? held + chunk.length : chunk.length - lastEnd - 1;
      if (held > limit) controller.error(new Error(`it sent a message of more than ${limit} bytes`));
      else controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  const copy = new Response(response.body.pipeThrough(gate), { status, statusText, headers });
  Object.defineProperty(copy, "url", { value: response.url });
  return copy;
}
