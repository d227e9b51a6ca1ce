import type { Json, Model, ModelRequest } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { aiSdk } from "./ai-sdk.ts";
import { anthropicFrom } from "./anthropic.ts";
import { geminiFrom } from "./gemini.ts";
import { chatPresetFrom } from "./openai-chat.ts";
import { openaiFrom } from "./openai.ts";
import { collectEvents, modelRequest, scriptedAiModel } from "./testing/index.ts";
import type { Transport } from "./transport.ts";
import { withSettings } from "./with-settings.ts";

type Body = { readonly [name: string]: Json };
type Row = {
  /** What goes out for the request, with this in the options of the model. */
  readonly send: (request: ModelRequest, extraBody: Body) => Promise<Body>;
  /** Where the members lie: at the top, or below the name of a provider. */
  readonly at: (members: Body) => Body;
  /** Changes deep members of what we send ourselves, what becomes of it, and something of another kind in its place. */
  readonly ours?: { readonly change: Body; readonly becomes: Body; readonly other: Body };
};

const SCHEMA = { type: "object", properties: {}, required: [], additionalProperties: false };
const LOOK = { name: "look", description: "Looks.", inputSchema: { type: "object" } };
const request = (extraBody: Json = {}): ModelRequest =>
  modelRequest([{ id: "m", role: "user", parts: [{ type: "text", text: "Hello" }] }], {
    tools: [LOOK],
    settings: { outputSchema: SCHEMA, reasoning: "high", extraBody },
  });

/** The body that a model over HTTP sends. */
function overHttp(make: (options: { apiKey: string; extraBody: Body; transport: Transport }) => Model): Row["send"] {
  return async (asked, extraBody) => {
    const bodies: Body[] = [];
    const transport: Transport = async ({ body }) => {
      bodies.push(JSON.parse(typeof body === "string" ? body : body.join("")) as Body); // the provider made it
      return Promise.reject(new Error("enough"));
    };
    await collectEvents(make({ apiKey: "test-key-0", extraBody, transport }), asked).catch(() => undefined);
    return bodies[0] ?? {};
  };
}

const names = (tools: unknown): unknown =>
  (tools as readonly Body[]).map((tool) => Object(tool["function"])["name"] ?? tool["name"] ?? Object.keys(tool)[0]);

const ROWS: Readonly<Record<string, Row>> = {
  anthropic: {
    send: overHttp((options) => anthropicFrom({}, "claude-opus-4-6", options)),
    at: (members) => members,
    ours: {
      change: { output_config: { format: { schema: { title: "T" } } }, thinking: { display: "omitted" } },
      becomes: {
        output_config: { effort: "high", format: { type: "json_schema", schema: { ...SCHEMA, title: "T" } } },
        thinking: { type: "adaptive", display: "omitted" },
      },
      other: { thinking: { type: "disabled" } },
    },
  },
  openai: {
    send: overHttp((options) => openaiFrom({}, "gpt-6.1-sol", options)),
    at: (members) => members,
    ours: {
      change: { text: { verbosity: "low", format: { name: "own" } }, reasoning: { summary: "detailed" } },
      becomes: {
        text: { verbosity: "low", format: { type: "json_schema", name: "own", schema: SCHEMA, strict: true } },
        reasoning: { effort: "high", summary: "detailed" },
      },
      other: { text: { format: { type: "text" } } },
    },
  },
  "openai-chat": {
    send: overHttp((options) => chatPresetFrom("openrouter", {}, "acme/large", options)),
    at: (members) => members,
    ours: {
      change: { response_format: { json_schema: { name: "own" } }, reasoning: { exclude: true } },
      becomes: {
        response_format: { type: "json_schema", json_schema: { name: "own", schema: SCHEMA, strict: true } },
        reasoning: { effort: "high", exclude: true },
      },
      other: { response_format: { type: "json_object" } },
    },
  },
  gemini: {
    send: overHttp((options) => geminiFrom({}, "gemini-3.8-flash", options)),
    at: (members) => members,
    ours: {
      change: { generationConfig: { seed: 1, thinkingConfig: { includeThoughts: false } } },
      becomes: {
        generationConfig: {
          seed: 1,
          responseMimeType: "application/json",
          responseJsonSchema: SCHEMA,
          thinkingConfig: { includeThoughts: false, thinkingLevel: "HIGH" },
        },
      },
      other: { generationConfig: { responseJsonSchema: { type: "string" } } },
    },
  },
  "ai-sdk": {
    async send(asked, extraBody) {
      const source = scriptedAiModel("v4", []);
      const providerOptions = extraBody as { readonly [provider: string]: Body }; // below the name of a provider
      await collectEvents(aiSdk(source, { providerOptions }), asked).catch(() => undefined);
      return (source.calls[0]?.["providerOptions"] ?? {}) as Body;
    },
    at: (members) => ({ acme: members }),
  },
};

const isHttp = ([name]: readonly [string, Row]): boolean => name !== "ai-sdk";

describe("extraBody", () => {
  const under = { x: { a: { b: 1, list: [1, 2], gone: 1 }, kind: { type: "one", one: 1 } }, y: [1], z: { a: 1 } };
  const over = { x: { a: { c: 2, list: [3], gone: null }, kind: { type: "two", two: 2 } }, y: { b: 1 }, z: "z" };
  const both = { x: { a: { b: 1, c: 2, list: [3], gone: null }, kind: { type: "two", two: 2 } }, y: { b: 1 }, z: "z" };

  for (const [name, { send, at }] of Object.entries(ROWS)) {
    it(`MODEL-17 of the settings goes into that of the options, objects at every depth, all else replaced: ${name}`, async () => {
      expect(await send(request(at(over)), at(under))).toMatchObject(at(both));
      const sent = JSON.stringify(await send(request(at(over)), at(under)));
      for (const replaced of ['"one"', "[1,2]", '"z":{']) expect(sent).not.toContain(replaced);
    });

    it(`MODEL-17 takes a member named __proto__ for a member: ${name}`, async () => {
      const strange = JSON.parse('{"x":{"__proto__":{"polluted":true}}}') as Body;
      const sent = await send(request(at(strange)), at({ x: { a: 1 } }));
      expect(JSON.stringify(sent)).toContain('"x":{"a":1,"__proto__":{"polluted":true}}');
      expect(Object({})["polluted"]).toBeUndefined();
    });
  }

  for (const [name, { send, ours }] of Object.entries(ROWS).filter(isHttp)) {
    it(`MODEL-17 goes into what we send ourselves by the same rule: ${name}`, async () => {
      const { change = {}, becomes = {}, other = {} } = ours ?? {};
      const sent = await send(request(change), {});
      for (const [member, value] of Object.entries(becomes)) expect(sent[member]).toEqual(value);
      const replaced = await send(request(other), {});
      expect(replaced).toMatchObject(other);
      for (const member of Object.keys(other))
        expect(JSON.stringify(replaced[member])).not.toMatch(/"json_schema"|"display"|"additionalProperties"/);
    });

    it(`MODEL-17 adds tools behind the agent's own, and takes neither them nor the stream away: ${name}`, async () => {
      const sent = await send(request({ tools: [{ name: "second" }], stream: false }), { tools: [{ name: "first" }] });
      expect(names(sent["tools"])).toEqual([name === "gemini" ? "functionDeclarations" : "look", "second"]);
      if (name !== "gemini") expect(sent["stream"]).toBe(true);
    });
  }

  it("MODEL-16 MODEL-17 does not take away the reasoning that must come back encrypted", async () => {
    const extra = { include: ["web_search_call.results"] };
    expect((await ROWS["openai"]?.send(request(extra), {}))?.["include"]).toEqual([
      "reasoning.encrypted_content",
      "web_search_call.results",
    ]);
  });

  it("MODEL-08 MODEL-17 of a variant follows the rule too", async () => {
    const bodies: Json[] = [];
    const model: Model = {
      id: "acme/one",
      capabilities: {},
      async *stream({ settings }) {
        bodies.push(settings.extraBody ?? null);
        yield [];
      },
    };
    await collectEvents(withSettings(model, { extraBody: under }), request(over));
    expect(bodies).toEqual([both]);
  });
});
