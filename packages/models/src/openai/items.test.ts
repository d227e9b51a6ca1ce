import type { Message, ModelRequest, Part, ToolOutput } from "@capstan/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openaiFrom, type OpenAIOptions } from "../openai.ts";
import {
  checkOpenAIInput,
  collectEvents,
  modelRequest,
  type OpenAIReply,
  type OpenAIServer,
  openaiServer,
  partsOf,
  type ResponseItem,
} from "../testing/index.ts";

const MODEL = "gpt-6.1-sol";
const CALL: ResponseItem = { type: "call", name: "look", input: { at: 1 } };

function modelOf(server: OpenAIServer, modelId = MODEL, options: OpenAIOptions = {}) {
  return openaiFrom({ OPENAI_API_KEY: "test-key-0", OPENAI_BASE_URL: server.url }, modelId, options);
}

function user(...parts: readonly Part[]): Message {
  return { id: "u", role: "user", parts };
}

function say(text: string): Part {
  return { type: "text", text };
}

function result(callId: string, output: ToolOutput): Part {
  return { type: "tool-result", callId, name: "look", output };
}

/** The answer as the loop stores it: with call ids of its own. */
function stored(parts: readonly Part[], turn = 1): Message {
  let index = 0;
  const named = parts.map((part): Part =>
    part.type === "tool-call" ? { ...part, callId: `run_1/${turn}/${index++}` } : part,
  );
  return { id: `a${turn}`, role: "assistant", parts: named };
}

function resultsOf({ parts }: Message): Message {
  return user(
    ...parts.flatMap((part) =>
      part.type === "tool-call" ? [result(part.callId, { content: [{ type: "text", text: "seen" }] })] : [],
    ),
  );
}

/** The input that these messages make. */
async function inputOf(messages: readonly Message[], options?: OpenAIOptions, modelId?: string): Promise<unknown[]> {
  await using server = await openaiServer([{ items: [] }]);
  await collectEvents(modelOf(server, modelId, options), modelRequest(messages));
  expect(server.violations).toEqual([]);
  return server.requests[0]?.body["input"] as unknown[]; // the server checks that it is a list
}

/** What is sent after this answer, its calls being answered; `change` edits the parts in between. */
async function roundTrip(
  items: readonly ResponseItem[],
  change: (parts: readonly Part[]) => readonly Part[] = (parts) => parts,
  second: (server: OpenAIServer) => ReturnType<typeof modelOf> = modelOf,
) {
  await using server = await openaiServer([{ items }, { items: [{ type: "text", text: "ok" }] }]);
  const first = user(say("Hello"));
  const answer = stored(change(partsOf(await collectEvents(modelOf(server), modelRequest([first])))));
  const results = resultsOf(answer);
  const rest = results.parts.length > 0 ? [results] : [user(say("And?"))];
  await collectEvents(second(server), modelRequest([first, answer, ...rest]));
  expect(server.violations).toEqual([]);
  return { sent: server.requests[1]?.body["input"] as object[], answer }; // the server checks that it is a list
}

describe("the history that openai sends", () => {
  it("MODEL-16 sends reasoning back unchanged, right before the call it led to, with the ids of both", async () => {
    const { sent } = await roundTrip([{ type: "reasoning", summary: ["Hm."] }, CALL, CALL]);
    expect(sent.slice(1)).toMatchObject([
      { type: "reasoning", id: "rs_0_0", encrypted_content: expect.stringMatching(/^gAAAAA/) },
      { type: "function_call", id: "fc_0_1", call_id: "call_fc_0_1", name: "look", arguments: '{"at":1}' },
      { type: "function_call", id: "fc_0_2", call_id: "call_fc_0_2" },
      { type: "function_call_output", call_id: "call_fc_0_1", output: "seen" },
      { type: "function_call_output", call_id: "call_fc_0_2", output: "seen" },
    ]);
  });

  it("MODEL-16 sends the phase of a message back, and keeps messages of other phases apart", async () => {
    const { sent } = await roundTrip([
      { type: "reasoning", summary: [] },
      { type: "text", text: "I look.", phase: "commentary" },
      { type: "text", text: "Done.", phase: "final_answer" },
    ]);
    const message = { type: "message", role: "assistant" };
    expect(sent.slice(2, -1)).toEqual([
      { ...message, phase: "commentary", id: "msg_0_1", content: [{ type: "output_text", text: "I look." }] },
      { ...message, phase: "final_answer", id: "msg_0_2", content: [{ type: "output_text", text: "Done." }] },
    ]);
  });

  it("MODEL-16 sends items of server tools back as they came", async () => {
    const item = { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "x" } };
    const { sent, answer } = await roundTrip([
      { type: "reasoning", summary: [] },
      { type: "raw", item, events: [{ type: "response.web_search_call.searching", output_index: 1 }] },
      { type: "text", text: "Found." },
    ]);
    expect(answer.parts.map(({ type }) => type)).toEqual(["reasoning", "opaque", "text"]);
    expect(sent[2]).toEqual(item);
  });

  it("MODEL-16 leaves reasoning of another model family out, with the ids and items that hang on it", async () => {
    const items: readonly ResponseItem[] = [
      { type: "reasoning", summary: ["Hm."] },
      { type: "raw", item: { type: "web_search_call", id: "ws_1", status: "completed" } },
      { type: "text", text: "I look.", phase: "commentary" },
      CALL,
    ];
    const { sent } = await roundTrip(items, undefined, (server) => modelOf(server, "gpt-5.6-sol"));
    expect(sent.slice(1)).toEqual([
      { type: "message", role: "assistant", phase: "commentary", content: [{ type: "output_text", text: "I look." }] },
      { type: "function_call", call_id: "call_fc_0_3", name: "look", arguments: '{"at":1}' },
      { type: "function_call_output", call_id: "call_fc_0_3", output: "seen" },
    ]);
  });

  it("MODEL-16 takes a dated snapshot for the same family", async () => {
    const dated = (server: OpenAIServer) => modelOf(server, `${MODEL}-2026-10-01`);
    const { sent } = await roundTrip([{ type: "reasoning", summary: [] }, CALL], undefined, dated);
    expect(sent[1]).toMatchObject({ type: "reasoning" });
  });

  it("MODEL-16 drops seals and opaque parts of another provider", async () => {
    const seal = { provider: "anthropic", data: { id: "toolu_1", signature: "foreign" } };
    const { sent } = await roundTrip([{ type: "text", text: "Let me see." }, CALL], (parts) => [
      { type: "reasoning", text: "Secret thought", seal },
      { type: "opaque", seal },
      ...parts.map((part) => (part.type === "tool-call" ? { ...part, seal } : part)),
    ]);
    expect(JSON.stringify(sent)).not.toMatch(/foreign|toolu_1|Secret/);
    const [, , call, output] = sent as { readonly call_id?: string }[];
    expect(call?.call_id).toMatch(/^call_[0-9a-f]{24}$/);
    expect(output?.call_id).toBe(call?.call_id);
  });

  it("sends no ids behind reasoning whose seal was taken away", async () => {
    const { sent } = await roundTrip([{ type: "reasoning", summary: ["My key is x"] }, CALL], (parts) =>
      parts.map((part) => (part.type === "reasoning" ? { type: "reasoning", text: "[redacted]" } : part)),
    );
    expect(sent[1]).toEqual({ type: "function_call", call_id: "call_fc_0_1", name: "look", arguments: '{"at":1}' });
  });

  it("sends no reasoning that nothing follows, as an interrupt leaves it", async () => {
    const { sent } = await roundTrip([{ type: "reasoning", summary: [] }, CALL], (parts) => parts.slice(0, 1));
    expect(sent.map((item) => Object(item).role)).toEqual(["user", "user"]);
  });

  it("gives calls ids of their own when the provider's are not unique", async () => {
    const call: Part = {
      type: "tool-call",
      callId: "",
      name: "look",
      input: {},
      by: "capstan",
      seal: { provider: "openai", data: { id: "same" } },
    };
    const answers = [1, 2].map((turn) => stored([call], turn));
    const input = await inputOf([user(say("Hi")), ...answers.flatMap((answer) => [answer, resultsOf(answer)])]);
    const ids = (input as { readonly call_id?: string }[]).flatMap(({ call_id: id }) => (id === undefined ? [] : [id]));
    expect(ids[0]).toBe("same");
    expect(ids[1]).toBe("same");
    expect(ids[2]).not.toBe("same");
    expect(ids[3]).toBe(ids[2]);
  });

  it("skips blank texts and sends system messages between others", async () => {
    const input = await inputOf([
      user(say(" \n")),
      user(say("Hi"), say("")),
      { id: "s", role: "system", parts: [say("The mode changed.")] },
      { id: "a", role: "assistant", parts: [say("")] },
    ]);
    expect(input).toEqual([
      { type: "message", role: "user", content: [{ type: "input_text", text: "Hi" }] },
      { type: "message", role: "system", content: [{ type: "input_text", text: "The mode changed." }] },
    ]);
  });

  const base64 = Buffer.from("png").toString("base64");
  const image: ToolOutput["content"][number] = {
    type: "file",
    name: "chart.png",
    mediaType: "image/png",
    data: { type: "base64", base64 },
  };
  const wireImage = { type: "input_image", image_url: `data:image/png;base64,${base64}`, detail: "auto" };
  const call: Part = { type: "tool-call", callId: "c", name: "look", input: {}, by: "capstan" };

  async function outputOf(output: ToolOutput, options?: OpenAIOptions): Promise<unknown[]> {
    const messages = [
      user(say("Hi")),
      { id: "a", role: "assistant", parts: [call] } as const,
      user(result("c", output)),
    ];
    return (await inputOf(messages, options)).slice(2);
  }

  it("TOOL-43 sends images inside of results", async () => {
    const [output] = await outputOf({ content: [{ type: "text", text: "A chart:" }, image] });
    expect(output).toMatchObject({ output: [{ type: "input_text", text: "A chart:" }, wireImage] });
  });

  it("TOOL-43 TOOL-25 sends images below the results where an endpoint takes none in them", async () => {
    const sent = await outputOf({ content: [image] }, { capabilities: { imageInToolResult: false } });
    expect(sent).toMatchObject([
      { type: "function_call_output", output: "[File chart.png (image/png): see the message below]" },
      { type: "message", role: "user", content: [wireImage] },
    ]);
    const blind = await outputOf({ content: [image] }, { capabilities: { images: false } });
    expect(blind).toMatchObject([{ output: "[File chart.png (image/png): this model cannot read it]" }]);
  });

  it("says in the text that a call failed, and sends structured and empty results", async () => {
    const output = async (given: ToolOutput): Promise<unknown> => Object((await outputOf(given))[0]).output;
    expect(await output({ content: [{ type: "text", text: "no such file" }], isError: true })).toBe(
      "Error:\nno such file",
    );
    expect(await output({ content: [{ type: "text", text: "Error 5" }], isError: true })).toBe("Error 5");
    expect(await output({ content: [], output: { rows: 2 } })).toBe('{"rows":2}');
    expect(await output({ content: [] })).toBe("");
    expect(await output({ content: [{ type: "diff", path: "a.txt", before: "x", after: "y" }] })).toContain("-x\n+y");
  });

  it("MODEL-03 begins every request with the bytes of the one before, also from another process", async () => {
    const reply = (turn: number): OpenAIReply => ({
      items: [
        { type: "reasoning", summary: [`Turn ${turn}`] },
        { type: "text", text: `Turn ${turn}`, phase: "commentary" },
        { ...CALL, input: { turn } },
        { ...CALL, input: {} },
      ],
    });
    await using server = await openaiServer((_request, index) => reply(index % 4));
    const model = modelOf(server);
    const settings = {
      system: "Be careful.",
      tools: [{ name: "look", description: "", inputSchema: { type: "object" } }],
    };
    const messages: Message[] = [user(say("Hello"))];
    for (let turn = 0; turn < 4; turn++) {
      const events = await collectEvents(model, modelRequest([...messages], settings));
      const answer = stored(partsOf(events), turn);
      messages.push(answer, resultsOf(answer));
    }
    const texts = server.requests.map(({ text }) => text.slice(0, -"]}".length));
    for (const [turn, text] of texts.slice(1).entries()) expect(text.startsWith(texts[turn] ?? "?")).toBe(true);
    const last = JSON.parse(JSON.stringify(messages.slice(0, -2))) as readonly Message[]; // as read from a store
    await collectEvents(modelOf(server), modelRequest(last, settings));
    expect(server.requests.at(-1)?.text).toBe(server.requests.at(-2)?.text);
    expect(server.violations).toEqual([]);
  });

  it("LOOP-29 makes an input that the API takes of any history that the loop can hold", async () => {
    const text = fc.string({ unit: "binary", maxLength: 8 }).map(say);
    const own = (data: object) => ({ provider: "openai", data }) as NonNullable<(Part & { type: "opaque" })["seal"]>;
    const item = (id: number) => ({ type: "reasoning", id: `rs_${id}`, summary: [], encrypted_content: "e" });
    const reasoning = fc
      .tuple(fc.nat(9), fc.constantFrom(MODEL, "other"))
      .map(([id, model]): Part => ({ type: "reasoning", text: "", seal: own({ model, item: item(id) }) }));
    const mark = fc.constantFrom<Part>({ type: "opaque", seal: own({ phase: "commentary", id: "msg_1" }) });
    const search = fc.constantFrom<Part>({
      type: "opaque",
      seal: own({ model: MODEL, item: { type: "web_search_call", id: "ws_1", status: "completed" } }),
    });
    const toolCall = fc.tuple(fc.constantFrom("", "call_a", "call b"), fc.jsonValue()).map(([id, input]): Part => ({
      type: "tool-call",
      callId: "",
      name: "look",
      input: input as never, // JSON by the arbitrary's own type
      by: "capstan",
      seal: own({ id, item: "fc_1" }),
    }));
    const turn = fc.array(fc.oneof(text, reasoning, mark, search, toolCall), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 4 }), async (turns) => {
        const answers = turns.map((parts, at) => stored(parts, at));
        const messages = [
          user(say("Hello")),
          ...answers.flatMap((answer) => [answer, resultsOf(answer), user(say("go"))]),
        ];
        let sent = "";
        const model = openaiFrom({ OPENAI_API_KEY: "k-0" }, MODEL, {
          transport: async ({ body }) => {
            sent = typeof body === "string" ? body : body.join("");
            throw new Error("sent");
          },
        });
        await expect(collectEvents(model, modelRequest(messages))).rejects.toThrow("sent");
        expect(checkOpenAIInput((JSON.parse(sent) as { readonly input: unknown }).input)).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });

  it("encodes a message once for as long as it is the same object", async () => {
    let asked = 0;
    const file: Part = { type: "file", mediaType: "image/png", data: { type: "blob", hash: "h", size: 3 } };
    const request: ModelRequest = modelRequest([user(file)], {
      blob: async () => {
        asked++;
        return Buffer.from("png");
      },
    });
    await using server = await openaiServer(() => ({ items: [] }));
    const model = modelOf(server);
    await collectEvents(model, request);
    await collectEvents(model, { ...request, messages: [...request.messages] });
    expect(asked).toBe(1);
  });
});
