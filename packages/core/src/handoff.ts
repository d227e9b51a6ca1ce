/** Handing a session over: a tool by which another agent takes charge of the same conversation from the next turn on. */

import { type CallEnd, failed } from "./call-end.ts";
import { CapstanError } from "./errors.ts";
import type { Hold } from "./hold.ts";
import type { Json } from "./json.ts";
import { textOutput } from "./message.ts";
import { jsonSchema } from "./schema.ts";
import { type Tool, tool } from "./tool.ts";

const INPUT: Json = {
  type: "object",
  properties: { reason: { type: "string", description: "Why, in a few words." } },
  additionalProperties: false,
};

/** The tool `transfer_to_<name>`. Throws `agent-invalid` for a name that no tool can have. */
export function handoffTool({ name, description }: { readonly name: string; readonly description?: string }): Tool {
  const what = description === undefined || description === "" ? "" : ` ${description}`;
  try {
    const made = tool<{ readonly reason?: string }>({
      name: `transfer_to_${name}`,
      description: `Hands this conversation over to the agent ${name}, which answers from here on.${what}`,
      input: jsonSchema(INPUT),
      kind: "switch-mode",
      rerun: "safe",
      title: ({ reason }) => `Hand over to ${name}${reason === undefined ? "" : `: ${reason}`}`,
    });
    return Object.freeze({ ...made, body: { type: "handoff" as const, agent: name } });
  } catch (error) {
    if (!CapstanError.is(error, "tool-invalid")) throw error;
    throw new CapstanError("agent-invalid", `Nobody can hand over to ${JSON.stringify(name)}: ${error.message}`, {
      cause: error,
    });
  }
}

/** The end of a permitted call. One agent takes over a turn: the first that was called. */
export function handOver({ run, definitions }: Hold, agent: string): CallEnd {
  const taken = run.calls.find(({ handoff }) => handoff !== undefined)?.handoff;
  if (taken !== undefined) return failed(`The conversation goes to ${taken}: only one agent can take it over.`);
  if (definitions.find(agent) === undefined) return failed(`There is no agent named ${JSON.stringify(agent)} here.`);
  return { status: "ok", output: textOutput(`The agent ${agent} takes over this conversation.`), handoff: agent };
}
