/**
 * How programs in a sandbox reach a gateway: directly where they share this machine's loopback, else through a socket
 * shown inside and a forwarder from a port of the sandbox's own loopback, which ends with the run.
 */

import { realpathSync } from "node:fs";
import type { GatewayGrant } from "./confiner.ts";
import { MARK_DESCRIPTOR, STATUS_DESCRIPTOR } from "./run-tag.ts";
import { findProgram, unavailable } from "./sandbox-rules.ts";

export type WayOut = {
  readonly env: { readonly [name: string]: string };
  /** Options of bubblewrap. */
  readonly mounts: readonly string[];
  /** For bash, before the program: starts the forwarder, waits until it listens, and leaves its number in `forwarder`. */
  readonly begin: string;
};

type Programs = { readonly bash: string | undefined; readonly socat?: readonly string[] | undefined };

/** On the loopback of the sandbox, where nothing else listens yet. */
const PORT = 38_291;
const SOCKET = "/run/capstan-gateway";
const NODE = "/run/capstan-forwarder";
/** Starts ten times as fast as Node, which is there in any case. */
const SOCAT = ["/usr/bin/socat", "/usr/local/bin/socat", "/bin/socat"];
const CONNECTIONS = 64;
/** How long an answer may take after the program has said all it had to. */
const HALF_OPEN_S = 600;
const FORWARD = [
  'const { connect, createServer } = require("node:net");',
  "const half = { allowHalfOpen: true };",
  "const server = createServer(half, (inside) => {",
  `  const outside = connect({ path: "${SOCKET}", ...half });`,
  "  inside.pipe(outside).pipe(inside);",
  '  for (const [one, other] of [[inside, outside], [outside, inside]]) one.on("error", () => other.destroy());',
  '  inside.on("close", () => outside.destroy());',
  "});",
  `server.maxConnections = ${CONNECTIONS};`,
  `server.listen(${PORT}, "127.0.0.1");`,
].join("\n");
/** A port that is listened on, as `/proc/net/tcp` shows it. */
const LISTENS = `:${PORT.toString(16).toUpperCase()} 00000000:0000 0A`;
const begin = (
  forwarder: string,
): string => `${forwarder} </dev/null >/dev/null 2>&1 ${STATUS_DESCRIPTOR}>&- ${MARK_DESCRIPTOR}<&- &
forwarder=$!
for ((round = 0; round < 500; round++)); do
  [[ $(</proc/net/tcp) == *"${LISTENS}"* ]] && break
  kill -0 $forwarder 2>/dev/null || { echo "The way to the broker could not be opened" >&2; break; }
  sleep 0.01
done`;

/** Throws `sandbox-unavailable` where there is none. */
export function wayOut(gateway: GatewayGrant, sharesLoopback: boolean, { bash, socat = SOCAT }: Programs): WayOut {
  if (sharesLoopback) return { env: gateway.env(), mounts: [], begin: "" };
  const { socket } = gateway;
  if (socket === undefined)
    throw unavailable("bwrap", "the broker has no socket here; is the path of TMPDIR too long?");
  if (bash === undefined) throw unavailable("bwrap", "a broker needs bash to be reached without a network");
  const show = ["--ro-bind", socket, SOCKET];
  const env = gateway.env(PORT);
  const found = findProgram(socat);
  if (found !== undefined) {
    const listen = `TCP4-LISTEN:${PORT},bind=127.0.0.1,reuseaddr,fork,max-children=${CONNECTIONS}`;
    return { env, mounts: show, begin: begin(`${found} -t ${HALF_OPEN_S} ${listen} UNIX-CONNECT:${SOCKET}`) };
  }
  const mounts = [...show, "--ro-bind", realpathSync(process.execPath), NODE];
  return { env, mounts, begin: begin(`NODE_OPTIONS= ${NODE} -e '${FORWARD}'`) };
}
