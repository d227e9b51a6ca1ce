/** Code mode: an agent whose model is a program. Another agent writes the program and hands it over as a task. */

import { agent, type Agent, type AgentLimits, CapstanError, modelName, type Plugin, type Tool } from "@capstan/core";
import { CODE_LIMITS as LIMITS } from "./limits.ts";
import { PROCESSES, programModel, type ProgramRunner } from "./program-model.ts";

export type CodeModeOptions = {
  /** What programs may call. */
  readonly tools: readonly (Tool | Agent<unknown>)[];
  /** Of the tool. Default `run_code`. */
  readonly name?: string;
  /** Around the calls of programs, within those of the agent that writes them. */
  readonly plugins?: readonly Plugin[];
  /** Of one program. */
  readonly limits?: AgentLimits;
};

/** For the `tools` of an agent. Throws `agent-invalid`, `tool-invalid`. */
export function codeMode(options: CodeModeOptions): Agent {
  return codeAgent(options, PROCESSES);
}

export function codeAgent(options: CodeModeOptions, runner: ProgramRunner): Agent {
  const { tools, name = "run_code", plugins = [], limits } = options;
  const made = agent({ name, model: programModel(runner), instructions: "Runs a program.", tools, plugins });
  if (made.tools.length === 0)
    throw new CapstanError("agent-invalid", `Agent ${JSON.stringify(name)} needs tools for its programs to call`);
  return agent({
    name,
    description: describe(made.tools),
    model: made.model,
    instructions: made.instructions,
    tools,
    plugins,
    limits: { turns: LIMITS.calls + 1, ...limits },
  });
}

const HEAD =
  "Runs a JavaScript program and returns what it returns, as JSON. `task` is the program: the body of one async function. " +
  'Call tools as `await tools.name({ ... })`, or `await tools["name"]({ ... })`; several at once with Promise.all. A call ' +
  "gives an object or list when the tool's result is JSON, else its text; one that fails or is refused throws. End with `return`; " +
  "console.log is returned too. There is no network, file, timer, import, binary data, chance or time but what tools give. " +
  "Work on large results in the program and return only what you need. Tools:";

function describe(tools: readonly Tool[]): string {
  const lines = tools.map(
    (tool) => `- ${modelName(tool.name)}: ${tool.description} Input: ${JSON.stringify(tool.inputSchema)}`,
  );
  const text = [HEAD, ...lines].join("\n");
  if (text.length <= LIMITS.descriptionCharacters) return text;
  throw new CapstanError(
    "agent-invalid",
    `What a model is told of these ${tools.length} tools is longer than ${LIMITS.descriptionCharacters} characters; give fewer`,
  );
}
