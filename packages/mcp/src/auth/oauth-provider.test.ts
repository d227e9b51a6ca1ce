import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { FileProvider } from "./oauth-provider.ts";

it("MCP-14 keeps the tokens that another process made new with the same refresh token", async () => {
  const folder = await mkdtemp(join(tmpdir(), "capstan-mcp-auth-"));
  const parts = {
    name: "a",
    url: "https://a.example/mcp",
    folder,
    onSecret: () => undefined,
    clientMetadataUrl: undefined,
  };
  const [one, other] = [new FileProvider(parts), new FileProvider(parts)];
  const tokens = (token: string) => ({ access_token: token, refresh_token: `${token}-refresh`, token_type: "Bearer" });
  try {
    await one.saveTokens(tokens("first"));
    await one.tokens();
    await other.tokens();
    await other.saveTokens(tokens("second"));
    await one.invalidateCredentials("tokens"); // "first-refresh" was refused: it had been used
    expect(await one.tokens()).toMatchObject({ access_token: "second" });
    await one.invalidateCredentials("tokens"); // what was given out from here last is what was refused
    expect(await one.tokens()).toBeUndefined();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
