/** A service that programs may use without holding its secret: what is configured, checked once. */

import { CapstanError } from "@capstan/core";
import { type AllowedPath, parseAllowed } from "./allowed-path.ts";

export type SecretHeaders = { readonly [name: string]: string };
export type BrokeredService = {
  /** Where the service is; requests go to paths below it. */
  readonly url: string;
  /** Sent to it with every request, and shown to nobody. A function is asked for each request. */
  readonly headers: SecretHeaders | (() => SecretHeaders | Promise<SecretHeaders>);
  /** The variable in which programs find the address to use instead. */
  readonly env: string;
  /** What may be asked, as `GET /repos/**`. Everything else is refused. */
  readonly allow: readonly string[];
  /** Lets the service be on this machine or in a private network, and do without TLS. */
  readonly allowPrivate?: boolean;
};
export type Service = Omit<BrokeredService, "url" | "allow" | "headers"> & {
  readonly name: string;
  /** Without a slash at its end. */
  readonly base: string;
  readonly allow: readonly AllowedPath[];
  readonly headers: () => SecretHeaders | Promise<SecretHeaders>;
  /** Those that need not be asked for. */
  readonly fixedHeaders: SecretHeaders;
};

/** Throws `config-invalid`. */
export function checkedService(name: string, given: BrokeredService): Service {
  const { url, headers, env, allow, allowPrivate = false } = given;
  const invalid = (problem: string): CapstanError =>
    new CapstanError("config-invalid", `The brokered service ${JSON.stringify(name)} ${problem}`);
  if (!/^[a-z][a-z0-9-]{0,31}$/.test(name)) throw invalid('needs a name of small letters, digits and "-"');
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(env)) throw invalid("needs the name of an environment variable");
  if (!URL.canParse(url)) throw invalid("has no address; write it as https://host/path");
  const { protocol, username, password, search, hash, origin, pathname } = new URL(url);
  if (username + password + search + hash !== "") throw invalid("has more than a host and a path in its address");
  if (protocol !== "https:" && !(allowPrivate && protocol === "http:"))
    throw invalid("must begin with https:; one on this machine or network needs allowPrivate");
  return {
    name,
    env,
    allowPrivate,
    base: origin + pathname.replace(/\/$/, ""),
    allow: allow.map(parseAllowed),
    headers: typeof headers === "function" ? headers : () => headers,
    fixedHeaders: typeof headers === "function" ? {} : headers,
  };
}

/** Texts that give the secrets away: whole values, and what stands behind a scheme or in a Basic pair. */
export function secretsIn(headers: SecretHeaders): readonly string[] {
  return Object.values(headers).flatMap((value) => {
    const [scheme = "", rest = ""] = value.trim().split(/\s+(.*)/s);
    const pair = scheme.toLowerCase() === "basic" ? Buffer.from(rest, "base64").toString("utf8") : "";
    const password = pair.slice(pair.indexOf(":") + 1);
    // bytes of an answer are looked at one by one
    return [value, rest, pair, password].flatMap((text) => [text, Buffer.from(text).toString("latin1")]);
  });
}
