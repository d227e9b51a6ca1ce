/** Keys of providers: fixed, asked for before every call, or OAuth tokens that refresh themselves. */

import { CapstanError, systemClock } from "@capstan/core";
import { type ProviderName, shown } from "./errors.ts";

export type Env = Readonly<Record<string, string | undefined>>;

/**
 * A key, or a function asked before every call, and once more with `rejected: true` and the refused `key` after a 401.
 * The function may return a token that it rotates; what it returns is never kept longer than the call.
 */
export type ApiKey =
  | string
  | ((state: { readonly rejected: boolean; readonly key?: string }) => string | Promise<string>);

/** The key for the next call; `rejected` after `key` was refused. Empty when none is needed. */
export type KeySource = (rejected: boolean, key?: string) => string | Promise<string>;

export type KeyOptions = {
  readonly provider: ProviderName;
  readonly apiKey: ApiKey | undefined;
  /** Names of the variables that may hold the key; the first that is set counts. */
  readonly variables: readonly string[];
  readonly env: Env;
  /** The endpoint may be used without a key. */
  readonly optional?: boolean;
};

/** Throws `model-key-missing` at once when a key is needed and nothing gives one. */
export function keySource(options: KeyOptions): KeySource {
  const { apiKey, env, variables, optional = false } = options;
  if (typeof apiKey === "function") {
    return async (rejected, key) => checkedKey(await apiKey({ rejected, ...(key !== undefined && { key }) }), options);
  }
  const found = apiKey ?? variables.map((name) => nonEmpty(env[name])).find((value) => value !== undefined);
  if (found === undefined && optional) return () => "";
  const key = checkedKey(found ?? "", options);
  return () => key;
}

function checkedKey(key: unknown, { provider, variables }: KeyOptions): string {
  const trimmed = typeof key === "string" ? key.trim() : "";
  if (trimmed === "") {
    const how = variables.length === 0 ? "Pass apiKey." : `Set ${variables.join(" or ")}, or pass apiKey.`;
    throw new CapstanError("model-key-missing", `There is no key for ${provider.label}. ${how}`, {
      provider: provider.id,
    });
  }
  if (/^[\x21-\x7e]+$/.test(trimmed)) return trimmed;
  const message = `The key for ${provider.label} holds characters that a header cannot carry. Copy it again.`;
  throw new CapstanError("model-auth", message, { provider: provider.id });
}

export function nonEmpty(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === "" ? undefined : value.trim();
}

export type OAuthTokens = {
  readonly accessToken: string;
  readonly refreshToken?: string;
  /** Unix milliseconds. Without it the token counts as good until it is refused. */
  readonly expiresAt?: number;
};
/** Says that tokens were renewed; the tokens themselves are not in it. Times are Unix milliseconds. */
export type OAuthRefreshed = { readonly oldExpiresAt?: number; readonly newExpiresAt?: number };

export type OAuthOptions = {
  readonly tokens: OAuthTokens;
  /** Asks the authority for new tokens. Called once at a time, however many calls wait for it. */
  readonly refresh: (tokens: OAuthTokens) => Promise<OAuthTokens>;
  /** Where new tokens are kept. Awaited before they are used: a rotated refresh token that is lost cannot be used again. */
  readonly save?: (tokens: OAuthTokens) => void | Promise<void>;
  readonly onRefresh?: (event: OAuthRefreshed) => void;
};

/** A token is renewed this long before it ends, so that it does not end on the way. */
const EARLY_MS = 60_000;

/**
 * An `apiKey` of OAuth tokens: renewed shortly before they end and once after a 401 of the newest. Throws `model-auth`
 * (retryable), without the tokens in its text, when `refresh` or `save` fails with anything but a `CapstanError`.
 */
export function oauth(options: OAuthOptions): Exclude<ApiKey, string> {
  let { tokens } = options;
  let renewing: Promise<void> | undefined;

  const renew = async (): Promise<void> => {
    const before = tokens;
    const fresh = await options.refresh(before);
    tokens = { ...(before.refreshToken !== undefined && { refreshToken: before.refreshToken }), ...fresh };
    await options.save?.(tokens);
    options.onRefresh?.({
      ...(before.expiresAt !== undefined && { oldExpiresAt: before.expiresAt }),
      ...(tokens.expiresAt !== undefined && { newExpiresAt: tokens.expiresAt }),
    });
  };
  const start = async (): Promise<void> => {
    const before = tokens;
    try {
      await renew();
    } catch (error) {
      throw renewalError(error, [before, tokens]);
    } finally {
      renewing = undefined;
    }
  };
  return async ({ rejected, key }) => {
    const refused = rejected && (key === undefined || key === tokens.accessToken.trim());
    const ends = tokens.expiresAt !== undefined && tokens.expiresAt - EARLY_MS <= systemClock.now();
    if (refused || ends) await (renewing ??= start());
    return tokens.accessToken;
  };
}

/** The original is not kept as the cause: its text may hold the tokens. */
function renewalError(error: unknown, seen: readonly OAuthTokens[]): CapstanError {
  if (CapstanError.is(error)) return error;
  const secrets = seen.flatMap(({ accessToken, refreshToken = "" }) => [accessToken, refreshToken]);
  const said = secrets.reduce(shown, error instanceof Error ? error.message : "");
  const why = said === "" ? "" : ` (${said})`;
  const message = `The OAuth tokens could not be renewed${why}. Try again; if that does not help, sign in again.`;
  return new CapstanError("model-auth", message, { retryable: true });
}
