/** Which addresses are of the public internet: checked on the address that is dialled, so that no name can lead elsewhere. */

import { lookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";

const NOT_PUBLIC = new BlockList();
for (const [network, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32], // of a cloud's own host, although its network is public
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
] as const)
  NOT_PUBLIC.addSubnet(network, bits, "ipv4");
// those that stand for an IPv4 address, or for nobody
for (const [network, bits] of [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const)
  NOT_PUBLIC.addSubnet(network, bits, "ipv6");

const GLOBAL = new BlockList();
GLOBAL.addSubnet("2000::", 3, "ipv6");

/** Of an address as a socket takes it, without brackets. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !NOT_PUBLIC.check(address, "ipv4");
  return isIP(address) === 6 && GLOBAL.check(address, "ipv6") && !NOT_PUBLIC.check(address, "ipv6");
}

/** Why an address may not be dialled, as the end of a sentence about the host; undefined when it may. */
export type Refusal = (address: string) => string | undefined | Promise<string | undefined>;

/** The system's look-up of names; it fails when one of the addresses is refused. */
export function guardedLookup(refused: Refusal): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, "", 0);
      firstRefusal(addresses, refused).then(
        (why) => {
          const [first] = addresses;
          if (first === undefined || why !== undefined)
            return callback(new RefusedAddress(`${hostname} ${why ?? "leads nowhere"}`), "", 0);
          return options.all === true ? callback(null, addresses) : callback(null, first.address, first.family);
        },
        (failure: unknown) => callback(failure as Error, "", 0), // whoever judges throws errors
      );
    });
  };
}

/** A host that policy keeps from being dialled. */
export class RefusedAddress extends Error {}

/** A refusal of all but public addresses. */
export function refusePrivate(address: string): string | undefined {
  return isPublicAddress(address) ? undefined : "leads into a private network";
}

export const publicLookup: LookupFunction = guardedLookup(refusePrivate);

async function firstRefusal(
  addresses: readonly { readonly address: string }[],
  refused: Refusal,
): Promise<string | undefined> {
  for (const { address } of addresses) {
    const why = await refused(address);
    if (why !== undefined) return why;
  }
  return undefined;
}
