/** An agent as a tool of an MCP server: a message in, the text of its run out; what the run asks goes to the client's person. */

import {
  CapstanError,
  check,
  type Actor,
  type Json,
  jsonSchema,
  messageOf,
  type Run,
  type Runtime,
  type RunResult,
} from "@capstan/core";
import type { CallToolResult, InputRequiredResult, Server, ServerContext } from "@modelcontextprotocol/server";
import { answerOf, elicitOf } from "./request-elicitation.ts";
import { toCallResult } from "./call-result.ts";
import type { Served } from "./tool-server.ts";
import { serverSdk } from "../connect/sdk.ts";

export type AgentDoor = { readonly name: string; readonly description?: string };

const INPUT: Json = {
  type: "object",
  properties: {
    message: { type: "string", minLength: 1, description: "What the agent is to do or answer." },
    session: { type: "string", description: "Goes on with this conversation; from an earlier result." },
  },
  required: ["message"],
  additionalProperties: false,
};
const OUTPUT: Json = {
  type: "object",
  properties: {
    session: { type: "string" },
    status: { type: "string", enum: ["finished", "waiting"] },
    reason: { type: "string" },
    text: { type: "string" },
  },
  required: ["session", "status", "text"],
};
const input = jsonSchema<{ readonly message: string; readonly session?: string }>(INPUT);

/** `actor` sees the sessions of its tenant only. `folder`: where new sessions work. */
export function servedAgent(runtime: Runtime, { name, description }: AgentDoor, actor: Actor, folder?: string): Served {
  const own = runtime.as(actor);
  return {
    name: name.replaceAll(/[^A-Za-z0-9_.-]/g, "_"),
    description: description ?? `Gives the agent ${name} something to do and returns its answer.`,
    inputSchema: INPUT,
    outputSchema: OUTPUT,
    readOnly: false,
    async call(given, context, server) {
      const resumed = stateOf(context);
      if (resumed !== undefined) return answered(own, resumed, context, server);
      const checked = await check(input, given);
      if (!checked.ok) return failed(`Wrong arguments for ${name}: ${checked.problem}`);
      const { message, session } = checked.value;
      const opened = session === undefined ? undefined : await own.session(session);
      if (opened !== undefined && opened.agent !== name) return failed(`Session ${session} is not one of ${name}`);
      const run =
        opened === undefined
          ? await own.send(name, message, { ...(folder !== undefined && { workspace: folder }) })
          : await opened.send(message);
      return settled(run, context, server);
    },
  };
}

type Resumed = { readonly session: string; readonly run: string };

/** What a client echoes: it names a session, which the actor must see, and nothing else is believed of it. */
function stateOf({ mcpReq }: ServerContext): Resumed | undefined {
  const state = mcpReq.requestState<string>();
  if (typeof state !== "string") return undefined;
  try {
    const { session, run } = JSON.parse(state) as Partial<Resumed>;
    if (typeof session === "string" && typeof run === "string") return { session, run };
  } catch {
    // said below
  }
  throw new CapstanError("input-invalid", "The request state is not one of this server");
}

async function answered(
  runtime: Runtime,
  { session, run: runId }: Resumed,
  context: ServerContext,
  server: Server,
): Promise<CallToolResult | InputRequiredResult> {
  const opened = await runtime.session(session);
  const run = await opened.run(runId);
  if (run === undefined) throw new CapstanError("session-not-found", `Session ${session} has no such run`);
  const result = await run.result();
  for (const request of result.requests) {
    const answer = answerOf(request.body, context.mcpReq.inputResponses?.[keyOf(request.requestId)]);
    if (answer !== undefined) await opened.respond(request.requestId, answer);
  }
  return settled(run, context, server);
}

async function settled(
  run: Run,
  context: ServerContext,
  server: Server,
): Promise<CallToolResult | InputRequiredResult> {
  const { signal } = context.mcpReq;
  const stop = (): void => void run.session.interrupt(run.id).catch(() => undefined); // it may have ended meanwhile
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  const shown = showProgress(run, context);
  try {
    const result = await run.result();
    if (result.status === "finished") return finished(run, result);
    return (await asked(run, result, context, server)) ?? waiting(run, result);
  } finally {
    shown();
    signal.removeEventListener("abort", stop);
  }
}

function finished(run: Run, { text, reason, error }: RunResult): CallToolResult {
  const ok = reason === "end-turn";
  const said = ok
    ? text
    : `The run ended: ${reason}${error === undefined ? "" : `, ${error.message}`}${text === "" ? "" : `\n${text}`}`;
  const output = { session: run.session.id, status: "finished", ...(reason !== undefined && { reason }), text };
  return toCallResult({ content: [{ type: "text", text: said }], output, ...(!ok && { isError: true }) });
}

function waiting(run: Run, { text, requests }: RunResult): CallToolResult {
  const open = requests.map(({ body }) => body.type).join(", ");
  const said = `The run waits for an answer (${open}) that cannot be given here; session ${run.session.id} goes on once it is given.`;
  return toCallResult({
    content: [{ type: "text", text: said }],
    output: { session: run.session.id, status: "waiting", text },
  });
}

/** Nothing when the client cannot ask anybody, or not this. */
async function asked(
  run: Run,
  { requests }: RunResult,
  context: ServerContext,
  server: Server,
): Promise<InputRequiredResult | undefined> {
  if (!canElicit(context, server)) return undefined;
  const { inputRequired } = await serverSdk();
  const entries = requests.flatMap(({ requestId, body }) => {
    const elicit = elicitOf(body);
    if (elicit === undefined) return [];
    const request = "url" in elicit ? inputRequired.elicitUrl(elicit) : inputRequired.elicit(elicit as never); // built from our own requests
    return [[keyOf(requestId), request] as const];
  });
  if (entries.length === 0) return undefined;
  const requestState = JSON.stringify({ session: run.session.id, run: run.id });
  return inputRequired({ inputRequests: Object.fromEntries(entries), requestState });
}

function keyOf(requestId: string): string {
  return requestId.replaceAll(/[^A-Za-z0-9_-]/g, "_");
}

function canElicit({ mcpReq }: ServerContext, server: Server): boolean {
  const envelope = mcpReq.envelope as { readonly [name: string]: unknown } | undefined;
  const stated = envelope?.["io.modelcontextprotocol/clientCapabilities"] ?? server.getClientCapabilities();
  return typeof stated === "object" && stated !== null && "elicitation" in stated && stated.elicitation !== undefined;
}

/** Tells a client that asked for it that the run goes on: once a turn and once a call. */
function showProgress(run: Run, { mcpReq }: ServerContext): () => void {
  const token = mcpReq._meta?.progressToken;
  const stop = new AbortController();
  if (token === undefined) return () => undefined;
  const show = async (): Promise<void> => {
    let progress = 0;
    for await (const { event } of run.events({ signal: stop.signal, live: false })) {
      if (event.type !== "turn.started" && event.type !== "tool.started") continue;
      progress += 1;
      const message = event.type === "tool.started" ? event.title : "thinks";
      await mcpReq.notify({ method: "notifications/progress", params: { progressToken: token, progress, message } });
    }
  };
  show().catch((error: unknown) => void messageOf(error)); // progress is for show
  return () => stop.abort();
}

function failed(message: string): CallToolResult {
  return toCallResult({ content: [{ type: "text", text: message }], isError: true });
}
