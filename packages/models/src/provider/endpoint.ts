/** Addresses and headers of providers, from options and the environment. */

import { CapstanError } from "@capstan/core";

export type HeaderOptions = Readonly<Record<string, string>>;

/** What every request of every provider carries; `own` wins over it, `given` over both. Names in lower case. */
export function requestHeaders(given: HeaderOptions | undefined, own: HeaderOptions = {}): Record<string, string> {
  const headers: Record<string, string> = { accept: "text/event-stream", "content-type": "application/json", ...own };
  for (const [name, value] of Object.entries(given ?? {})) headers[name.toLowerCase()] = value;
  return headers;
}

/** Whether the caller's own headers carry a key, so that none has to be found. */
export function isAuthorized(given: HeaderOptions | undefined, ...names: readonly string[]): boolean {
  return Object.keys(given ?? {}).some((name) => ["authorization", ...names].includes(name.toLowerCase()));
}

/**
 * `baseUrl` with `path` behind it. A base that lacks `version` (such as `/v1`) gets it when `version` is given; an
 * endpoint of one's own may have another. Throws `config-invalid` for what is not an http or https URL.
 */
export function endpointUrl(label: string, baseUrl: string, path: string, version = ""): string {
  const base = baseUrl.trim().replace(/\/+$/, "");
  const url = `${version === "" || base.endsWith(version) ? base : base + version}${path}`;
  if (/^https?:\/\/[^/]/i.test(base) && URL.canParse(url) && !url.includes("?")) return url;
  throw new CapstanError("config-invalid", `The base URL for ${label} is not an http or https URL. Correct it.`);
}
