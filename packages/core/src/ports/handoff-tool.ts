/** Handing a session over: a tool by which another agent takes charge of the same conversation from the next turn on. */

import { CapstanError } from "../words/errors.ts";
import type { Json } from "../words/json.ts";
import { jsonSchema } from "../words/schema.ts";
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
