/** A tool of a server as a tool of an agent: a flow whose every attempt is a step, so that a crash never sends a call twice unseen. */

import {
  type FlowContext,
  flowTool,
  type Json,
  jsonSchema,
  type PermissionWord,
  type Schema,
  text,
  type Tool,
  type ToolOutput,
  textOutput,
} from "@capstan/core";
import { answerEmbedded, type Answering, elicitationOf } from "../connect/answer-requests.ts";
import type { McpService } from "../connect/service.ts";
import { MCP_LIMITS } from "../limits.ts";
import { type McpCall, type McpHooks, timeLimited } from "../mcp-hooks.ts";
import { canonicalName } from "../config/server-name.ts";
import { type ApprovedDefinitions, definitionHash } from "./approved-definitions.ts";
import { askForm } from "./ask-form.ts";
import { type AskingBoard, Questions } from "./asking.ts";
import { attemptCall, type CallOutcome } from "./call-outcome.ts";
import { originOf, readResult } from "./read-result.ts";
import { schemaProblem } from "./remote-schema.ts";
import type { OfferedTool } from "./tool-view.ts";

export type RemoteToolParts = {
  readonly service: McpService;
  readonly hooks: McpHooks;
  readonly board: AskingBoard;
  readonly answering: Omit<Answering, "elicit">;
  readonly approved: ApprovedDefinitions;
};

export function remoteTool(offered: OfferedTool, parts: RemoteToolParts): Tool {
  const { config } = parts.service;
  const name = canonicalName(config.name, offered.name);
  const { readOnly, idempotent } = offered.annotations;
  const safe = config.trustHints && (readOnly || idempotent);
  const hash = definitionHash(offered);
  const known = parts.approved.get(name);
  const changed = known !== undefined && known !== hash;
  const description =
    offered.description === "" ? `The tool ${offered.name} of the MCP server ${config.name}.` : offered.description;
  return flowTool({
    name,
    description,
    input: inputOf(offered.inputSchema),
    kind: config.trustHints && readOnly ? "read" : "other",
    title: (input) => titleOf(config.name, offered.name, input),
    // allowed under another definition: whatever rules say, a person looks again
    ...(changed && { permission: (): PermissionWord => "ask" }),
    flow: async (input, context) => {
      parts.approved.set(name, hash);
      const call = {
        server: config.name,
        tool: offered.name,
        name,
        input,
        callId: context.callId,
        runId: context.runId,
      };
      return new RemoteCallFlow(parts, offered, call, context, safe).run();
    },
  });
}

/** Shown to the model as the server wrote it, checked without what could run for ever. */
function inputOf(schema: Json): Schema<Json> {
  return jsonSchema<Json>(schema, (value) => {
    const problem = schemaProblem(schema, value as Json); // what is no JSON has no type that fits
    return problem === undefined ? { value: value as Json } : { issues: [{ message: problem }] };
  });
}

const MAX_TITLE = 200;

function titleOf(server: string, tool: string, input: Json): string {
  const written = JSON.stringify(input);
  return `${server}: ${tool} ${written.length > MAX_TITLE ? `${written.slice(0, MAX_TITLE).toWellFormed()}...` : written}`;
}

class RemoteCallFlow {
  readonly #parts: RemoteToolParts;
  readonly #tool: OfferedTool;
  readonly #call: McpCall;
  readonly #context: FlowContext;
  readonly #safe: boolean;
  #asked = 0;

  constructor(parts: RemoteToolParts, tool: OfferedTool, call: McpCall, context: FlowContext, safe: boolean) {
    this.#parts = parts;
    this.#tool = tool;
    this.#call = call;
    this.#context = context;
    this.#safe = safe;
  }

  async run(): Promise<ToolOutput> {
    const given = await this.#before();
    if (given !== undefined) return given;
    const output = await this.#exchange();
    return this.#after(output);
  }

  async #exchange(): Promise<ToolOutput> {
    const { config } = this.#parts.service;
    let answers: { readonly responses: Json; readonly state?: string } | undefined;
    let failures = 0;
    let pages = 0;
    for (let round = 1; round <= MCP_LIMITS.rounds; round += 1) {
      const outcome = await this.#attempt(round, answers);
      switch (outcome.type) {
        case "answered":
          return readResult(outcome.result, { outputSchema: this.#tool.outputSchema, labels: originOf(config.name) });
        case "asked":
          answers = {
            responses: await this.#answers(round, outcome.requests),
            ...(outcome.state !== undefined && { state: outcome.state }),
          };
          break;
        case "pages":
          pages += 1;
          if (pages > 1 || outcome.pages.length === 0 || !(await this.#openPages(round, outcome.pages)))
            return this.#failed("it wants a page to be opened in a browser first");
          break;
        case "failed":
          failures += 1;
          if (!outcome.again || failures > MCP_LIMITS.reconnects) return this.#failed(outcome.message);
          break;
        case "broken":
          failures += 1;
          if (!this.#safe || failures > 1) return this.#broken(outcome.message);
          break;
        default:
          return outcome satisfies never;
      }
    }
    return this.#failed(`it asked back more than ${MCP_LIMITS.rounds} times`);
  }

  /** One attempt, one step: after a crash it answers from the log, or is in doubt. */
  #attempt(
    round: number,
    answers: { readonly responses: Json; readonly state?: string } | undefined,
  ): Promise<CallOutcome> {
    const { service, board } = this.#parts;
    const { config } = service;
    const questions = new Questions();
    let pause = (): void => undefined;
    let resume = (): void => undefined;
    const step = this.#context.step(`call-${round}`, { rerun: this.#safe ? "safe" : "never" }, async ({ signal }) => {
      const leave = board.enter(config.name, {
        sessionId: this.#context.session.id,
        ask: (question) => questions.ask(question),
      });
      try {
        return (await attemptCall(service, {
          name: this.#tool.name,
          input: this.#call.input as { readonly [name: string]: Json }, // its schema is an object's
          definition: definitionHash(this.#tool),
          ...(answers !== undefined && { answers }),
          timeoutMs: config.timeouts.callMs,
          signal,
          limited: (limit) => {
            pause = () => limit.pause();
            resume = () => limit.restart();
          },
          progress: (update) => this.#context.progress(update),
        })) as unknown as Json; // plain data
      } finally {
        leave();
      }
    });
    const work = step.then((value) => value as unknown as CallOutcome); // written above
    return questions.during(work, async (question) => {
      pause();
      try {
        return await this.#ask(question);
      } finally {
        resume();
      }
    });
  }

  async #answers(round: number, requests: { readonly [key: string]: Json }): Promise<Json> {
    const { service, answering } = this.#parts;
    const answers: [string, Json][] = [];
    for (const [key, request] of Object.entries(requests).slice(0, MCP_LIMITS.rounds)) {
      const { method, params = null } = (request ?? {}) as { readonly method?: Json; readonly params?: Json };
      if (method === "elicitation/create") answers.push([key, (await this.#ask(elicitationOf(params))) as Json]);
      else {
        const embedded = { method: typeof method === "string" ? method.slice(0, 80) : "nothing", params };
        const name = `answer-${round}-${answers.length + 1}`; // the key is the server's own words
        const answer = await this.#context.step(name, { rerun: "safe" }, ({ signal }) =>
          answerEmbedded(embedded, service.config.name, answering, signal),
        );
        answers.push([key, answer]);
      }
    }
    return Object.fromEntries(answers);
  }

  async #openPages(
    round: number,
    pages: readonly { readonly message: string; readonly url: string }[],
  ): Promise<boolean> {
    for (const page of pages) if ((await this.#ask(page)).action !== "accept") return false;
    return round > 0;
  }

  #ask(question: Parameters<Questions["ask"]>[0]): ReturnType<Questions["ask"]> {
    this.#asked += 1;
    if (this.#asked > MCP_LIMITS.questions) return Promise.resolve({ action: "cancel" });
    return askForm(this.#context, `ask-${this.#asked}`, this.#call.server, question);
  }

  async #before(): Promise<ToolOutput | undefined> {
    const { beforeCall, onFailure = "refuse" } = this.#parts.hooks;
    if (beforeCall === undefined) return undefined;
    const given = await this.#context.step("before", { rerun: "safe" }, async () => {
      try {
        return ((await timeLimited(() => beforeCall(this.#call))) ?? null) as Json;
      } catch {
        return onFailure === "ignore" ? null : { deny: "a hook before the call failed" };
      }
    });
    if (given === null) return undefined;
    const { deny, answer } = given as { readonly deny?: string; readonly answer?: string | ToolOutput };
    if (deny !== undefined) return textOutput(`Refused: ${deny}`, { isError: true });
    return typeof answer === "object" ? answer : textOutput(answer ?? "");
  }

  async #after(output: ToolOutput): Promise<ToolOutput> {
    const { afterCall, onFailure = "refuse" } = this.#parts.hooks;
    if (afterCall === undefined) return output;
    const given = await this.#context.step("after", { rerun: "safe" }, async () => {
      try {
        return ((await timeLimited(() => afterCall(this.#call, output))) ?? null) as unknown as Json;
      } catch {
        if (onFailure === "ignore") return null;
        const message = "The call was made. Its output is withheld: the hook that looks at it failed.";
        return { content: [text(message)], isError: true } as unknown as Json;
      }
    });
    if (given === null) return output;
    const made = given as unknown as ToolOutput; // what the hook gave, as JSON; core checks it
    return { ...made, labels: [...new Set([...(output.labels ?? []), ...(made.labels ?? [])])] };
  }

  #failed(message: string): ToolOutput {
    return this.#error(message, `${this.#call.server} did not do it: ${message}`);
  }

  #broken(message: string): ToolOutput {
    const said = `${this.#call.server} did not answer: ${message}. The call was sent, so it may have happened: its outcome is unknown. Check before any repeat.`;
    return this.#error(message, said);
  }

  /** The message may be the server's own words. */
  #error(message: string, said: string): ToolOutput {
    try {
      this.#parts.hooks.onCallError?.(this.#call, message);
    } catch {
      // who only listens does not stop a call
    }
    return { ...textOutput(said, { isError: true }), labels: originOf(this.#call.server) };
  }
}
