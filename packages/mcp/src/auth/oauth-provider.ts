/** Signs requests to one server with OAuth 2.1: tokens from the private file, made new when they end, asked of a person only in a login. */

import { CapstanError, systemClock, systemIds } from "@capstan/core";
import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import type { McpServerConfig } from "../config/server-config.ts";
import { readSignIn, type SignIn, writeSignIn } from "./sign-in-file.ts";

export type McpAuthOptions = {
  /** Private folder of the sign-ins. */
  readonly folder: string;
  /** Where this client's own metadata can be read (a client id metadata document). Default: it registers itself. */
  readonly clientMetadataUrl?: string;
};

const ids = systemIds(() => systemClock.now());

/** For the `auth` of a client: signs requests to servers that have no `Authorization` header of their own. */
export function mcpAuth({
  folder,
  clientMetadataUrl,
}: McpAuthOptions): (server: McpServerConfig, onSecret: (secret: string) => void) => OAuthClientProvider | undefined {
  return ({ name, transport }, onSecret) => {
    if (transport.type !== "http" && transport.type !== "sse") return undefined;
    if (Object.keys(transport.headers).some((header) => header.toLowerCase() === "authorization")) return undefined;
    return new FileProvider({ name, url: transport.url, folder, onSecret, clientMetadataUrl });
  };
}

export type ProviderParts = {
  readonly name: string;
  readonly url: string;
  readonly folder: string;
  readonly onSecret: (secret: string) => void;
  readonly clientMetadataUrl: string | undefined;
  /** Only in a login: where the browser comes back to, and who shows a person the page. */
  readonly login?: { readonly redirectUrl: string; show(page: URL): void | Promise<void> };
};

export class FileProvider implements OAuthClientProvider {
  declare readonly clientMetadataUrl?: string;
  readonly #parts: ProviderParts;
  /** The access token that was last given out from here. */
  #used: string | undefined;

  constructor(parts: ProviderParts) {
    this.#parts = parts;
    if (parts.clientMetadataUrl !== undefined) this.clientMetadataUrl = parts.clientMetadataUrl;
  }

  get redirectUrl(): string {
    return this.#parts.login?.redirectUrl ?? "http://127.0.0.1/callback";
  }

  get clientMetadata(): OAuthClientMetadata {
    return {
      client_name: "Capstan",
      redirect_uris: [this.redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    };
  }

  async state(): Promise<string> {
    const state = ids.random() + ids.random();
    await this.#change({ state });
    return state;
  }

  async clientInformation(): Promise<StoredOAuthClientInformation | undefined> {
    const { client } = await this.#read();
    if (client !== undefined && "client_secret" in client && typeof client.client_secret === "string")
      this.#parts.onSecret(client.client_secret);
    return client;
  }

  saveClientInformation(client: StoredOAuthClientInformation): Promise<void> {
    return this.#change({ client });
  }

  async tokens(): Promise<StoredOAuthTokens | undefined> {
    const { tokens } = await this.#read();
    if (tokens !== undefined) this.#tell(tokens);
    this.#used = tokens?.access_token;
    return tokens;
  }

  async saveTokens(tokens: StoredOAuthTokens): Promise<void> {
    this.#tell(tokens);
    await this.#change({ tokens });
  }

  async redirectToAuthorization(page: URL): Promise<void> {
    const { login, name } = this.#parts;
    if (login === undefined) {
      const wanted = page.searchParams.get("scope");
      if (wanted !== null) await this.#change({ wanted });
      throw new CapstanError(
        "mcp-login-needed",
        `MCP server ${name} wants a sign-in: run \`capstan mcp login ${name}\``,
      );
    }
    await login.show(page);
  }

  saveCodeVerifier(verifier: string): Promise<void> {
    return this.#change({ verifier });
  }

  async codeVerifier(): Promise<string> {
    const { verifier } = await this.#read();
    if (verifier === undefined) throw new Error("no sign-in was begun");
    return verifier;
  }

  saveDiscoveryState(discovery: OAuthDiscoveryState): Promise<void> {
    return this.#change({ discovery });
  }

  async discoveryState(): Promise<OAuthDiscoveryState | undefined> {
    return (await this.#read()).discovery;
  }

  async invalidateCredentials(scope: "all" | "client" | "tokens" | "verifier" | "discovery"): Promise<void> {
    const { url, folder } = this.#parts;
    const { client, tokens, verifier, discovery, ...rest } = await this.#read();
    // another process may have made new ones with the same refresh token, which then is refused here
    const replaced = tokens !== undefined && this.#used !== undefined && tokens.access_token !== this.#used;
    if (scope === "tokens" && replaced) return;
    const keeps = (one: typeof scope): boolean => scope !== "all" && scope !== one;
    await writeSignIn(folder, {
      ...rest,
      url,
      ...(keeps("client") && client !== undefined && { client }),
      ...(keeps("tokens") && tokens !== undefined && { tokens }),
      ...(keeps("verifier") && verifier !== undefined && { verifier }),
      ...(keeps("discovery") && discovery !== undefined && { discovery }),
    });
  }

  #read(): Promise<SignIn> {
    return readSignIn(this.#parts.folder, this.#parts.url);
  }

  async #change(change: Partial<SignIn>): Promise<void> {
    await writeSignIn(this.#parts.folder, { ...(await this.#read()), ...change });
  }

  #tell({ access_token: access, refresh_token: refresh }: StoredOAuthTokens): void {
    this.#parts.onSecret(access);
    if (refresh !== undefined) this.#parts.onSecret(refresh);
  }
}
