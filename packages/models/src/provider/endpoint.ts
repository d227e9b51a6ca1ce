/** Where a provider is called and with what: from a caller's options and the environment. */

import { CapstanError } from "@capstan/core";
import { nodeTransport, type Transport } from "../transport.ts";
import { type Env, type KeySource, keySource } from "./credentials.ts";
import type { ProviderName } from "./errors.ts";
import type { ProviderOptions } from "./options.ts";

/** The header that carries the key; its name in lower case. */
export type KeyHeader = { readonly name: string; readonly scheme?: string };

export const BEARER: KeyHeader = { name: "authorization", scheme: "Bearer" };

export type Endpoint = {
  readonly provider: ProviderName;
  readonly url: string;
  readonly key: KeySource;
  readonly keyHeader: KeyHeader;
  /** Names in lower case. They win over `keyHeader`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly transport: Transport;
};

export type EndpointOptions = Pick<Endpoint, "provider" | "url" | "keyHeader"> & {
  readonly env: Env;
  /** Variables that may hold the key; the first that is set counts. */
  readonly keyVariables: readonly string[];
  /** The endpoint may be used without a key. */
  readonly keyless?: boolean;
  /** What the protocol wants beside the usual ones. Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
};

/** A key in the caller's own headers makes any other needless. Throws `model-key-missing`. */
export function endpointOf(given: ProviderOptions, options: EndpointOptions): Endpoint {
  const { provider, url, env, keyVariables, keyHeader, keyless = false } = options;
  const headers: Record<string, string> = {
    accept: "text/event-stream",
    "content-type": "application/json",
    ...options.headers,
  };
  for (const [name, value] of Object.entries(given.headers ?? {})) headers[name.toLowerCase()] = value;
  // Azure takes keys of every protocol as api-key
  const authorized = [keyHeader.name, "authorization", "api-key"].some((name) => name in headers);
  return {
    provider,
    url,
    key: keySource({
      provider,
      apiKey: given.apiKey,
      variables: keyVariables,
      env: authorized ? {} : env,
      optional: authorized || keyless,
    }),
    keyHeader,
    headers,
    transport: given.transport ?? nodeTransport,
  };
}

const KEY_HEADERS = ["authorization", "x-api-key", "api-key", "x-goog-api-key"];

/** The key that a caller's own headers carry, to keep it out of errors; "" when there is none. */
export function keyIn(headers: Readonly<Record<string, string>>, ...more: readonly string[]): string {
  const byName = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const name = [...more, ...KEY_HEADERS].find((known) => byName.has(known)) ?? "";
  return (byName.get(name) ?? "").replace(/^\S+\s+/, "");
}

/**
 * `baseUrl` with `path` behind it. A base that lacks `version` (such as `/v1`) gets it when `version` is given; an
 * endpoint of one's own may have another. Throws `config-invalid` for what is not an http or https URL.
 */
export function endpointUrl({ label }: ProviderName, baseUrl: string, path: string, version = ""): string {
  const base = baseUrl.trim().replace(/\/+$/, "");
  const url = `${version === "" || base.endsWith(version) ? base : base + version}${path}`;
  if (/^https?:\/\/[^/]/i.test(base) && URL.canParse(url) && !url.includes("?")) return url;
  throw new CapstanError("config-invalid", `The base URL for ${label} is not an http or https URL. Correct it.`);
}
