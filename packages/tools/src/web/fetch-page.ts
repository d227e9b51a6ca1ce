/** One page from the web: every address, also that of a redirect and the one that is dialled, judged before it is used. */

import { isIP } from "node:net";
import type { ToolContext } from "@capstan/core";
import { boundedBody, KNOWN_ENCODINGS } from "../egress/bounded-body.ts";
import { EgressFailure, guardedRequest } from "../egress/guarded-request.ts";
import { refusePrivate, type Refusal } from "../egress/public-address.ts";
import { WEB_LIMITS as LIMITS } from "./limits.ts";

export type Fetched =
  | {
      readonly type: "page";
      readonly url: URL;
      readonly contentType: string;
      readonly bytes: Buffer;
      readonly cut: boolean;
    }
  | { readonly type: "redirect"; readonly from: URL; readonly to: URL };

export type FetchOptions = {
  /** `host` or `host:port` that may be of this machine or a private network. */
  readonly privateHosts: ReadonlySet<string>;
  readonly judge: ToolContext["judge"];
  readonly signal: AbortSignal;
};

/** A web address without credentials. Throws `EgressFailure` with what is wrong, for the model. */
export function webAddress(text: string, base?: string): URL {
  if (!URL.canParse(text, base)) throw new EgressFailure("That is no web address: write it as https://host/path");
  const url = new URL(text, base);
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw new EgressFailure(`Only https and http addresses are fetched, not ${JSON.stringify(url.protocol)}`);
  if (url.username !== "" || url.password !== "")
    throw new EgressFailure(`The address of ${url.host} holds credentials, which are never sent. Leave them out`);
  url.hash = "";
  return url;
}

/**
 * Follows a redirect only where rules allow the address that it leads to; else that is the result. Throws `EgressFailure`,
 * and the signal's reason on abort.
 */
export async function fetchPage(start: URL, options: FetchOptions): Promise<Fetched> {
  const { judge, signal } = options;
  let url = start;
  for (let hop = 0; hop <= LIMITS.redirects; hop++) {
    const answer = await guardedRequest({
      method: "GET",
      url,
      // the same for every host: nothing of one reaches another
      headers: {
        accept: "text/html, text/markdown, text/*;q=0.9, application/json;q=0.9, image/*;q=0.8, */*;q=0.5",
        "accept-encoding": KNOWN_ENCODINGS,
        "user-agent": "Mozilla/5.0 (compatible; Capstan)",
      },
      idleMs: LIMITS.idleMs,
      refused: refusalOf(url, options),
      signal,
    });
    const { statusCode: status = 0, headers } = answer;
    const target = headers.location;
    if (status >= 300 && status < 400 && target !== undefined) {
      answer.destroy();
      const to = webAddress(target, url.href);
      const verdict = await judge?.([{ type: "fetch", url: to.href }]);
      if (verdict?.verdict !== "allow") return { type: "redirect", from: url, to };
      url = to;
      continue;
    }
    if (status < 200 || status >= 300) {
      answer.destroy();
      throw new EgressFailure(`${url.host} answered with status ${status}`);
    }
    const body = await boundedBody(answer, { url, maxBytes: LIMITS.pageBytes, signal });
    return { type: "page", url, contentType: (headers["content-type"] ?? "").toLowerCase(), ...body };
  }
  throw new EgressFailure(`${start.host} redirects more than ${LIMITS.redirects} times`);
}

/** Private addresses only for hosts that were named; and none that a rule forbids by its number. */
function refusalOf(url: URL, { privateHosts, judge }: FetchOptions): Refusal {
  const isNamed = privateHosts.has(url.host) || privateHosts.has(url.hostname);
  return async (address) => {
    const why = isNamed ? undefined : refusePrivate(address);
    if (why !== undefined || judge === undefined) return why;
    const dialled = new URL(url);
    dialled.hostname = isIP(address) === 6 ? `[${address}]` : address;
    if (dialled.href === url.href) return undefined; // judged as what it is
    const { verdict, by, rule } = await judge([{ type: "fetch", url: dialled.href }]);
    if (by !== "rule" || verdict === "allow") return undefined;
    const own = await judge([{ type: "fetch", url: url.href }]);
    // a rule that asks about both was answered
    return own.rule === rule && verdict === "ask"
      ? undefined
      : `leads to ${address}, which the rule ${rule ?? ""} is about`;
  };
}
