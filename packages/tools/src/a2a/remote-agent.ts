/** An agent elsewhere as a tool, over the A2A protocol: its task is sent once, followed, and cancelled with the run. */

import { CapstanError, flowTool, type FlowContext, type Tool, type ToolOutput } from "@capstan/core";
import { z } from "zod";
import { failure } from "../tool-answer.ts";
import { A2A_LIMITS as LIMITS } from "./limits.ts";
import { textOfParts, toRemoteOutput } from "./remote-output.ts";
import { type Begun, RemoteWork } from "./remote-work.ts";
import { type Connection, type Headers, type OutgoingMessage, readEndpoint, RemoteClient } from "./rpc.ts";
import type { RemoteTask, TaskId } from "./wire.ts";

export type RemoteAgentOptions = {
  /** The tool's name, for the model and for rules. */
  readonly name: string;
  /** What the model reads: what this agent can do. The card's own words are the other side's and are not used. */
  readonly description: string;
  /** Sent with every request, to this agent only. A function is asked each time. */
  readonly headers?: Headers | (() => Headers | Promise<Headers>);
  /** Lets the agent be on this machine or in a private network, and do without TLS. */
  readonly allowPrivate?: boolean;
};

const input = z.object({
  task: z
    .string()
    .trim()
    .min(1)
    .describe("What it is to do, with all that it needs to know: it sees nothing of this conversation."),
  data: z.record(z.string(), z.json()).optional().describe("Values that belong to the task, where it takes some."),
});
const answerSchema = z.object({ answer: z.string().trim().min(1) });

/**
 * `url`: where the agent is, or its card. Throws `tool-invalid` for an address that cannot be used. Nothing is asked before
 * a call: an agent that is not there is an error that the model reads. Touches the address as a `fetch` does, for rules.
 */
export function remoteAgent(url: string, options: RemoteAgentOptions): Tool {
  const { name, description, headers = {}, allowPrivate = false } = options;
  const address = checkedAddress(url, name, allowPrivate);
  const connection: Connection = {
    address,
    allowPrivate,
    headers: () => (typeof headers === "function" ? headers() : headers),
  };
  return flowTool<z.infer<typeof input>>({
    name,
    description,
    input,
    title: ({ task }) => `${name}: ${task}`,
    needs: () => [{ type: "fetch", url: address.href }],
    parallel: true,
    flow: (given, context) => converse(name, connection, given, context),
  });
}

function checkedAddress(url: string, name: string, allowPrivate: boolean): URL {
  const invalid = (problem: string): CapstanError =>
    new CapstanError("tool-invalid", `The address of the remote agent ${JSON.stringify(name)} ${problem}`);
  if (!URL.canParse(url)) throw invalid("is no address; write it as https://host/path");
  const address = new URL(url);
  if (address.username !== "" || address.password !== "") throw invalid("holds credentials; give them as headers");
  if (address.protocol === "https:" || (allowPrivate && address.protocol === "http:")) return address;
  throw invalid("must begin with https:; an agent on this machine or network needs allowPrivate");
}

type Given = z.infer<typeof input>;

/** The task, and what the other agent asks back, each as a step of its own. */
async function converse(
  name: string,
  connection: Connection,
  { task, data }: Given,
  context: FlowContext,
): Promise<ToolOutput> {
  const endpoint = await context.step("card", { rerun: "safe" }, ({ signal }) => readEndpoint(connection, signal));
  const client = new RemoteClient(connection, endpoint);
  let message: Omit<OutgoingMessage, "messageId"> = { text: task, ...(data !== undefined && { data }) };
  for (let round = 1; round <= LIMITS.rounds; round++) {
    const work = new RemoteWork(client, endpoint.streaming, context);
    const said = message;
    // never sent again by itself: the protocol leaves it open whether an agent knows a message that it has seen
    const begun: Begun = await context.step(`send/${round}`, { rerun: "never" }, ({ idempotencyKey }) =>
      work.begin({ ...said, messageId: idempotencyKey }),
    );
    if (begun === null) return failure(`It is not known whether ${name} took the task up.`); // a person said so after a crash
    if (begun.type === "message") return toRemoteOutput(begun.parts);
    try {
      const settled = await context.step(`wait/${round}`, { rerun: "safe" }, () => work.settled(begun.task.id));
      if (settled.state !== "input-required") return await endOf(name, work, begun.task);
      const question = `${name} asks: ${settled.said}`;
      const answer = await context.form(`answer/${round}`, { message: question, schema: answerSchema });
      const given = answerSchema.safeParse(answer.decline === true ? undefined : answer.content);
      if (!given.success) {
        await work.cancel(begun.task.id);
        return failure(`${question}\nNobody answered. Call it again with a task that says this.`);
      }
      message = { text: given.data.answer, taskId: begun.task.id, ...contextOf(begun.task) };
    } catch (error) {
      // nobody follows it any more
      if (!context.signal.aborted || isOver(context.signal.reason)) await work.cancel(begun.task.id);
      throw error;
    }
  }
  return failure(`${name} asked back more than ${LIMITS.rounds} times.`);
}

function contextOf({ contextId }: TaskId): { readonly contextId?: string } {
  return contextId === undefined ? {} : { contextId };
}

/** Whether the run ends: a process that closes, or lost the session, leaves the task to the one that goes on with it. */
function isOver(reason: unknown): boolean {
  return !CapstanError.is(reason) || CapstanError.is(reason, "session-not-found");
}

async function endOf(name: string, work: RemoteWork, { id }: TaskId): Promise<ToolOutput> {
  const task = await work.result(id);
  const { state } = task;
  if (state === "completed") return toRemoteOutput(task.artifacts.length > 0 ? task.artifacts : task.said);
  if (state === "auth-required") await work.cancel(id);
  const why = textOfParts(task.said).slice(0, LIMITS.saidCharacters).toWellFormed();
  return failure(`${name} ${ENDS[state] ?? "is in a state that is not known here"}${why === "" ? "." : `: ${why}`}`);
}

const ENDS: { readonly [State in RemoteTask["state"]]?: string } = {
  failed: "failed",
  canceled: "was cancelled on its side",
  rejected: "refused the task",
  "auth-required": "wants an authorization that cannot be given here",
  "input-required": "asked back",
};
