/** An agent as a tool of another: its model gives a task in words and gets the answer. */

import { CapstanError } from "../words/errors.ts";
import type { Json } from "../words/json.ts";
import { errorOutput, textOutput } from "../words/message.ts";
import { jsonSchema } from "../words/schema.ts";
import { flowTool, type Tool } from "./tool.ts";

const INPUT: Json = {
  type: "object",
  properties: {
    task: {
      type: "string",
      description: "What it is to do, with all that it needs to know: it sees nothing of this conversation.",
    },
  },
  required: ["task"],
  additionalProperties: false,
};

/** A tool of the agent's name. Several calls of one turn run beside each other. Throws `agent-invalid` for a name that no tool can have. */
export function agentTool(agent: { readonly name: string; readonly description: string }): Tool {
  const { name, description } = agent;
  try {
    return flowTool<{ readonly task: string }>({
      name,
      description: description === "" ? `Gives a task to the agent ${name} and returns its answer.` : description,
      input: jsonSchema(INPUT),
      title: ({ task }) => `${name}: ${task}`,
      parallel: true,
      async flow({ task }, context) {
        const { status, text, output } = await context.spawn("run", name, task);
        if (status !== "completed") return errorOutput(`The agent ${name} ended as ${status}: ${text}`);
        return output === undefined
          ? textOutput(text)
          : { content: [{ type: "text", text: JSON.stringify(output) }], output };
      },
    });
  } catch (error) {
    if (!CapstanError.is(error, "tool-invalid")) throw error;
    throw new CapstanError("agent-invalid", `Agent ${JSON.stringify(name)} cannot be a tool: ${error.message}`, {
      cause: error,
    });
  }
}
