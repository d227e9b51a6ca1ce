/** What is kept of the sign-in to one server: one private file a server, in a private folder (G23). */

import { chmod, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CapstanError, sha256, systemClock, systemIds } from "@capstan/core";
import type {
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";

export type SignIn = {
  readonly url: string;
  readonly client?: StoredOAuthClientInformation;
  readonly tokens?: StoredOAuthTokens;
  readonly verifier?: string;
  readonly state?: string;
  readonly discovery?: OAuthDiscoveryState;
  /** What the next sign-in is to ask for: more than was granted. */
  readonly wanted?: string;
};

const isText = (value: unknown): boolean => value === undefined || typeof value === "string";
const ids = systemIds(() => systemClock.now());

/** Empty when there is none. Throws `config-invalid` for a file that is not ours. */
export async function readSignIn(folder: string, url: string): Promise<SignIn> {
  let content: string;
  try {
    content = await readFile(fileOf(folder, url), "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return { url };
    throw error;
  }
  const parsed = jsonOf(content);
  if (isSignIn(parsed) && parsed.url === url) return parsed;
  throw new CapstanError("config-invalid", `${fileOf(folder, url)} cannot be read; delete it and sign in again`);
}

/** Whole or not at all. */
export async function writeSignIn(folder: string, signIn: SignIn): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  const file = fileOf(folder, signIn.url);
  const draft = `${file}.${ids.random()}`;
  try {
    await writeFile(draft, JSON.stringify(signIn), { mode: 0o600, flag: "wx" });
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** False when there was none. */
export async function forgetSignIn(folder: string, url: string): Promise<boolean> {
  try {
    await rm(fileOf(folder, url));
    return true;
  } catch {
    return false;
  }
}

function fileOf(folder: string, url: string): string {
  return join(folder, `${sha256(url).slice(0, 32)}.json`);
}

/** As far as it is used here; the SDK checks the rest where it uses it. */
function isSignIn(value: unknown): value is SignIn {
  if (typeof value !== "object" || value === null) return false;
  const { url, client, tokens, verifier, state, discovery, wanted } = value as { readonly [name: string]: unknown };
  return (
    typeof url === "string" &&
    isText(verifier) &&
    isText(state) &&
    isText(wanted) &&
    hasText(client, "client_id") &&
    hasText(tokens, "access_token") &&
    hasText(discovery, "authorizationServerUrl")
  );
}

function hasText(value: unknown, name: string): boolean {
  if (value === undefined) return true;
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as { readonly [name: string]: unknown })[name] === "string"
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
