import { describe, expect, it } from "vitest";
import { checkOpenAIInput } from "./check-openai-responses-input.ts";
import { checkOpenAIRequest } from "./check-openai-responses-request.ts";
import { openaiServer } from "./openai-responses-server.ts";

const headers = { authorization: "Bearer k", "content-type": "application/json" };
const hello = { role: "user", content: [{ type: "input_text", text: "Hello" }], type: "message" };
const said = { type: "message", role: "assistant", content: [{ type: "output_text", text: "Hi" }] };
const call = (id: string) => ({ type: "function_call", call_id: id, name: "t", arguments: "{}" });
const output = (id: string) => ({ type: "function_call_output", call_id: id, output: "done" });
const thought = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "e" };
const image = (url: string) => ({ ...hello, content: [{ type: "input_image", image_url: url }] });

describe("checkOpenAIInput", () => {
  it("accepts what the API accepts", () => {
    const input = [hello, thought, call("a"), call("b"), output("b"), output("a"), said, image("https://x.example/a")];
    expect(checkOpenAIInput(input)).toEqual([]);
  });

  const cases: readonly (readonly [problem: string, input: unknown])[] = [
    ["must be a list", []],
    ["is not known", [{ type: "video" }]],
    ["role: tool", [{ ...hello, role: "tool" }]],
    ["unknown field", [{ ...hello, name: "x" }]],
    ["must not be empty", [{ ...hello, content: [] }]],
    ["text: must not be empty", [{ ...hello, content: [{ type: "input_text", text: "" }] }]],
    ["not in this item", [{ ...said, content: hello.content }]],
    ["phase: not known", [{ ...hello, phase: "commentary" }]],
    ["must begin with msg", [{ ...said, id: "rs_1" }]],
    ["data of an image", [image("data:image/tiff;base64,aGk=")]],
    [
      "filename: missing",
      [{ ...hello, content: [{ type: "input_file", file_data: "data:application/pdf;base64,aGk=" }] }],
    ],
    ["not found", [hello, { type: "reasoning", id: "rs_1", summary: [] }, said]],
    ["required following item", [hello, thought]],
    ["required following item", [hello, thought, hello]],
    ["call_id: cannot be used", [hello, call("a b"), output("a b")]],
    ["arguments: not JSON", [hello, { ...call("a"), arguments: "{" }, output("a")]],
    ["used before", [hello, call("a"), output("a"), call("a"), output("a")]],
    ["No tool output found", [hello, call("a")]],
    ["No tool output found", [hello, call("a"), hello, output("a")]],
    ["No tool call found", [hello, output("a")]],
  ];
  for (const [at, [problem, input]] of cases.entries()) {
    it(`refuses: ${problem} ${at}`, () => {
      expect(checkOpenAIInput(input).join("\n")).toContain(problem);
    });
  }

  it("refuses items that were changed, and items without the reasoning they came with", () => {
    const issued = new Map([
      ["rs_1", { json: JSON.stringify(thought) }],
      ["fc_1", { json: "", after: "rs_1" }],
    ]);
    const own = { ...call("a"), id: "fc_1" };
    expect(checkOpenAIInput([hello, thought, own, output("a")], issued)).toEqual([]);
    const changed = checkOpenAIInput([hello, { ...thought, encrypted_content: "f" }, own, output("a")], issued);
    expect(changed.join()).toContain("was modified");
    expect(checkOpenAIInput([hello, own, output("a")], issued).join()).toContain("required reasoning item rs_1");
  });
});

describe("checkOpenAIRequest", () => {
  const body = {
    model: "gpt-6.1-sol",
    stream: true,
    store: false,
    include: ["reasoning.encrypted_content"],
    input: [hello],
  };
  const tool = { type: "function", name: "t", description: "d", parameters: { type: "object" }, strict: false };
  it("accepts a small request", () => {
    const choice = { type: "function", name: "t" };
    expect(checkOpenAIRequest(headers, { ...body, tools: [tool], tool_choice: choice })).toEqual([]);
  });
  const cases: readonly (readonly [problem: string, change: object])[] = [
    ["modell: unknown field", { modell: "x" }],
    ["max_output_tokens", { max_output_tokens: 1 }],
    ["prompt_cache_key", { prompt_cache_key: "x".repeat(65) }],
    ["tools.0.name", { tools: [{ ...tool, name: "a.b" }] }],
    ["there twice", { tools: [tool, tool] }],
    [
      "required must name",
      { tools: [{ ...tool, strict: true, parameters: { type: "object", properties: { a: {} } } }] },
    ],
    ["there are no tools", { tool_choice: "auto" }],
    ["no such tool", { tools: [tool], tool_choice: { type: "function", name: "u" } }],
    ["reasoning.effort", { reasoning: { effort: "none" } }],
    ["temperature", { temperature: 1 }],
    ["encrypted content is not supported", { model: "gpt-4.1" }],
    ["would be lost", { include: [] }],
    ["store", { store: true }],
    [
      "additionalProperties",
      { text: { format: { type: "json_schema", name: "o", schema: { type: "object" }, strict: true } } },
    ],
  ];
  for (const [problem, change] of cases) {
    it(`refuses: ${problem}`, () => {
      expect(checkOpenAIRequest(headers, { ...body, ...change }).join("\n")).toContain(problem);
    });
  }

  it("refuses a request without a key", () => {
    expect(checkOpenAIRequest({}, body).join("\n")).toContain("authorization");
  });
});

describe("openaiServer", () => {
  it("refuses what the API refuses and remembers it", async () => {
    await using server = await openaiServer([]);
    const response = await fetch(`${server.url}/v1/responses`, { method: "POST", headers, body: "{}" });
    expect([response.status, ((await response.json()) as { error: { type: string } }).error.type]).toEqual([
      400,
      "invalid_request_error",
    ]);
    expect(server.violations).toContain("input: must be a list that is not empty");
  });
});
