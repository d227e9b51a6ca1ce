/** Which headers pass the broker on the way to a service and back. Pure. */

import type { IncomingHttpHeaders } from "node:http";
import type { SecretHeaders } from "./service.ts";

type Headers = Record<string, string | string[]>;

/** Of a connection and not of a message; and what a program could pass itself off by, or change the method with. */
const NOT_SENT =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|host|authorization|cookie|forwarded|x-forwarded-.*|x-real-ip|via|accept-encoding|content-length|http2-settings|range|if-range|.*method.*override.*|x-http-method|x-method|x-original-.*|x-rewrite-.*)$/;
const NOT_RETURNED =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|set-cookie2?|www-authenticate|alt-svc|strict-transport-security|content-length|content-encoding|public-key-pins)$/;

/** `secret` wins over what the program says. The answer must not be packed: secrets in it would not be found. */
export function sentHeaders(given: IncomingHttpHeaders, secret: SecretHeaders): Headers {
  const headers = passing(given, NOT_SENT);
  for (const [name, value] of Object.entries(secret)) headers[name.toLowerCase()] = value;
  return { ...headers, "accept-encoding": "identity" };
}

/** Addresses of the service lead back through the broker. */
export function returnedHeaders(
  given: IncomingHttpHeaders,
  { base, own, clean }: { readonly base: string; readonly own: string; readonly clean: (text: string) => string },
): Headers {
  const headers = passing(given, NOT_RETURNED);
  const { location } = given;
  if (location !== undefined && URL.canParse(location, `${base}/`))
    headers["location"] = new URL(location, `${base}/`).href;
  for (const [name, value] of Object.entries(headers)) {
    const turned = (text: string): string =>
      clean(/^(?:content-)?location$|^link$/.test(name) ? text.replaceAll(base, own) : text);
    headers[name] = typeof value === "string" ? turned(value) : value.map(turned);
  }
  return headers;
}

function passing(given: IncomingHttpHeaders, stopped: RegExp): Headers {
  const named = new Set((given.connection ?? "").toLowerCase().split(/[\s,]+/));
  const headers: Headers = {};
  for (const [name, value] of Object.entries(given))
    if (value !== undefined && !named.has(name) && !stopped.test(name)) headers[name] = value;
  return headers;
}
