import { inspect } from "node:util";
import { CapstanError } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { openaiFrom } from "./openai.ts";
import { type OAuthOptions, type OAuthRefreshed, oauth, type OAuthTokens } from "./provider/credentials.ts";
import { collectEvents, modelRequest, type OpenAIServer, openaiServer } from "./testing/index.ts";

const REQUEST = modelRequest([{ id: "u", role: "user", parts: [{ type: "text", text: "Hello" }] }]);
const OLD: OAuthTokens = { accessToken: "access-old-1", refreshToken: "refresh-old-1" };
const NEW: OAuthTokens = { accessToken: "access-new-2", refreshToken: "refresh-new-2" };
/** Far away from every run of this test. */
const LATER = Date.UTC(2200, 0, 1);
const PAST = Date.UTC(2020, 0, 1);

function modelOf(server: OpenAIServer, options: OAuthOptions) {
  return openaiFrom({}, "gpt-6.1-sol", { apiKey: oauth(options), baseUrl: server.url });
}

/** A server that takes one token only. */
function serverOf(accepted: string): Promise<OpenAIServer> {
  return openaiServer(({ headers }) =>
    headers["authorization"] === `Bearer ${accepted}` ? { items: [{ type: "text", text: "ok" }] } : { status: 401 },
  );
}

describe("openai with OAuth tokens", () => {
  it("MODEL-10 MODEL-03 renews a token before it ends, and tells both times but no token", async () => {
    await using server = await serverOf(NEW.accessToken);
    const events: OAuthRefreshed[] = [];
    const model = modelOf(server, {
      tokens: { ...OLD, expiresAt: PAST },
      refresh: async () => ({ ...NEW, expiresAt: LATER }),
      onRefresh: (event) => events.push(event),
    });
    await collectEvents(model, REQUEST);
    await collectEvents(model, REQUEST);
    expect(server.requests).toHaveLength(2);
    expect(events).toEqual([{ oldExpiresAt: PAST, newExpiresAt: LATER }]);
  });

  it("MODEL-10 keeps the refresh token when the authority sends none, and saves before it uses", async () => {
    await using server = await serverOf(NEW.accessToken);
    const saved: unknown[] = [];
    const model = modelOf(server, {
      tokens: { ...OLD, expiresAt: PAST },
      refresh: async () => ({ accessToken: NEW.accessToken }),
      save: async (tokens) => {
        saved.push([tokens, server.requests.length]);
      },
    });
    await collectEvents(model, REQUEST);
    expect(saved).toEqual([[{ accessToken: NEW.accessToken, refreshToken: OLD.refreshToken }, 0]]);
  });

  it("MODEL-10 renews once for all calls that were refused, also for those refused later", async () => {
    const late = Promise.withResolvers<void>();
    let refused = 0;
    await using server = await openaiServer(async ({ headers }) => {
      if (headers["authorization"] === `Bearer ${NEW.accessToken}`) return { items: [] };
      if (refused++ === 2) await late.promise;
      return { status: 401 };
    });
    let renewed = 0;
    const events: OAuthRefreshed[] = [];
    const model = modelOf(server, {
      tokens: { ...OLD, expiresAt: LATER },
      refresh: async (tokens) => {
        expect(tokens.refreshToken).toBe(OLD.refreshToken);
        renewed++;
        return { ...NEW, expiresAt: LATER + 1 };
      },
      onRefresh: (event) => events.push(event),
    });
    const calls = [0, 1, 2].map(() => collectEvents(model, REQUEST));
    await Promise.race(calls);
    late.resolve();
    await Promise.all(calls);
    expect(renewed).toBe(1);
    expect(events).toEqual([{ oldExpiresAt: LATER, newExpiresAt: LATER + 1 }]);
  });

  it("MODEL-10 gives up when the new token is refused too", async () => {
    await using server = await serverOf("nobody-has-this");
    const model = modelOf(server, { tokens: OLD, refresh: async () => NEW });
    await expect(collectEvents(model, REQUEST)).rejects.toMatchObject({ code: "model-auth", status: 401 });
    expect(server.requests).toHaveLength(2);
  });

  it("MODEL-10 G23 tells a failed renewal without the tokens, and tries again next time", async () => {
    await using server = await serverOf(NEW.accessToken);
    let tries = 0;
    const model = modelOf(server, {
      tokens: { ...OLD, expiresAt: PAST },
      refresh: async ({ accessToken, refreshToken }) => {
        if (tries++ === 0) throw new Error(`invalid_grant for ${String(refreshToken)} (${accessToken})`);
        return NEW;
      },
    });
    const error: unknown = await collectEvents(model, REQUEST).catch((caught: unknown) => caught);
    expect(CapstanError.is(error, "model-auth") && error.message).toContain("invalid_grant");
    expect(inspect(error)).not.toMatch(/refresh-old|access-old/);
    await collectEvents(model, REQUEST);
    expect(tries).toBe(2);
  });
});
