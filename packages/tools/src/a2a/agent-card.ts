/** The card of a remote agent (`/.well-known/agent-card.json`): where it answers, and in which version of the protocol. */

import { z } from "zod";
import { RemoteFailure } from "./http.ts";

export type Endpoint = {
  readonly url: string;
  readonly version: "0.3" | "1.0";
  readonly streaming: boolean;
  readonly tenant?: string;
};

const text = z.string().max(4_096);
const cardSchema = z.object({
  capabilities: z.object({ streaming: z.boolean().nullish() }).nullish(),
  supportedInterfaces: z
    .array(z.object({ url: text, protocolBinding: text, protocolVersion: text, tenant: text.nullish() }))
    .nullish(),
  // until 0.3
  url: text.nullish(),
  protocolVersion: text.nullish(),
  preferredTransport: text.nullish(),
  additionalInterfaces: z.array(z.object({ url: text, transport: text })).nullish(),
});

/** Where the card stands: at the address itself when that names a JSON file, else at the well-known place below it. */
export function cardUrl(address: URL): URL {
  if (address.pathname.endsWith(".json")) return address;
  return new URL(`${address.pathname.replace(/\/$/, "")}/.well-known/agent-card.json`, address.origin);
}

/** The newest version that both sides speak. Throws for a card that is none, and for an agent on another host than its card. */
export function endpointOf(card: unknown, address: URL): Endpoint {
  const parsed = cardSchema.safeParse(card);
  if (!parsed.success) throw new RemoteFailure(`The card of ${address.host} is not an agent card`);
  const { supportedInterfaces, url, protocolVersion, preferredTransport, additionalInterfaces, capabilities } =
    parsed.data;
  const stated = (supportedInterfaces ?? []).filter(({ protocolBinding }) => protocolBinding === "JSONRPC");
  const current = stated.find(({ protocolVersion: version }) => version.startsWith("1."));
  const older = stated.find(({ protocolVersion: version }) => version.startsWith("0.3"));
  const isOld = url !== null && url !== undefined && /^0\.[23]/.test(protocolVersion ?? "0.3");
  const first = isOld && (preferredTransport ?? "JSONRPC") === "JSONRPC" ? { url } : undefined;
  const other = isOld ? additionalInterfaces?.find(({ transport }) => transport === "JSONRPC") : undefined;
  const found = current ?? older ?? first ?? other;
  if (found === undefined)
    throw new RemoteFailure(`${address.host} speaks no version of A2A over JSON-RPC that is known here`);
  if (!URL.canParse(found.url) || new URL(found.url).origin !== address.origin)
    throw new RemoteFailure(
      `The card of ${address.host} names another host, ${JSON.stringify(found.url)}: give that address instead`,
    );
  const tenant = "tenant" in found ? found.tenant : undefined;
  return {
    url: found.url,
    version: current === undefined ? "0.3" : "1.0",
    streaming: capabilities?.streaming === true,
    ...(typeof tenant === "string" && tenant !== "" && { tenant }),
  };
}
