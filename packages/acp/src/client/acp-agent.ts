/** Another ACP agent as a tool: it gets a task in words, works in the session's folder, and what it asks a person is asked here. */

import { flowTool, type FlowContext, jsonSchema, textOutput, type Tool, type ToolOutput } from "@capstan/core";
import { type AcpAgentOptions, AgentWork, type Came } from "./agent-work.ts";

type Input = { readonly task: string };
const INPUT = {
  type: "object",
  properties: {
    task: {
      type: "string",
      minLength: 1,
      description: "What it is to do, with all that it needs to know: it sees nothing of this conversation.",
    },
  },
  required: ["task"],
  additionalProperties: false,
};

/** A process a call, which ends with it. Touches what starting the command touches, for rules. */
export function acpAgent(options: AcpAgentOptions): Tool {
  const { name, description, command, args = [] } = options;
  const words = [command, ...args];
  return flowTool<Input>({
    name,
    description,
    input: jsonSchema<Input>(INPUT),
    title: ({ task }) => `${name}: ${task}`,
    needs: () => [{ type: "execute", command: words.join(" "), words }],
    parallel: true,
    flow: ({ task }, context) => converse(options, task, context),
  });
}

/** Work at which a run waits for a person: the flow runs again from its top, in this process it finds the agent that waits. */
const works = new Map<string, AgentWork>();

/** The task, and what comes behind each question, is a step of its own: a person is asked between them. */
async function converse(options: AcpAgentOptions, task: string, context: FlowContext): Promise<ToolOutput> {
  const { name } = options;
  const key = `${context.session.id}/${context.callId}`;
  const work = works.get(key) ?? new AgentWork(options, context.workspace.root, () => works.delete(key));
  works.set(key, work);
  const leave = work.attach(context);
  try {
    // never done again by itself: nobody knows how far a lost agent came
    let came = await context.step("work/1", { rerun: "never" }, () => work.begin(task));
    for (let round = 1; came?.type === "asked"; round += 1) {
      const { title, detail } = came;
      const answer = await context.ask(`permission/${round}`, { title, ...(detail !== "" && { detail }) });
      came = await context.step(`work/${round + 1}`, { rerun: "never" }, () => work.goOn(answer.allow));
    }
    await work.end();
    return outputOf(name, came);
  } catch (error) {
    if (!context.signal.aborted) await work.end();
    throw error;
  } finally {
    leave();
  }
}

function outputOf(name: string, came: Came | null): ToolOutput {
  if (came?.type !== "ended") return textOutput(`It is not known how far ${name} came.`, { isError: true }); // a person said so after a crash
  const { stopReason, text } = came;
  if (stopReason === "end_turn") return textOutput(text === "" ? "It is done; it said nothing." : text);
  return textOutput(`${name} ${ENDS[stopReason]}${text === "" ? "." : `: ${text}`}`, { isError: true });
}

const ENDS = {
  max_tokens: "was cut off at its output limit",
  max_turn_requests: "came to its limit",
  refusal: "refused the task",
  cancelled: "was cancelled",
} as const;
