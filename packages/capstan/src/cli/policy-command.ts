/** `capstan policy explain`: the verdict on a call under the rules that hold here, with one line for each thing it touches. */

import {
  callFacts,
  check,
  type Explanation,
  explain,
  type Need,
  type PermissionMode,
  policyOf,
  type Tool,
} from "@capstan/core";
import { resolve } from "node:path";
import type { Config } from "../config.ts";
import { toolsFor } from "./agents.ts";
import { EXIT, usage } from "./failure.ts";
import { inertLine } from "./inert.ts";
import { neededRules } from "./needed-rules.ts";
import { permissionOf } from "./open-agent.ts";
import { parseJson } from "./parse-json.ts";
import { screen as newScreen } from "./screen.ts";
import { setUpAgent } from "./set-up-agent.ts";
import { readSettings } from "./settings.ts";

export type ExplainFlags = {
  readonly agent?: string;
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly mode?: PermissionMode;
  readonly cwd?: string;
  readonly json?: boolean;
};

/** Runs nothing. `text` is `tool(input)`, a tool's name with its input as JSON, or else a command of the shell. */
export async function explainCommand(
  config: Config | undefined,
  text: string,
  inputJson: string | undefined,
  flags: ExplainFlags,
): Promise<number> {
  if (text.trim() === "") throw usage("Name a call, such as 'shell(git status)' or 'read_file(README.md)'");
  const root = resolve(flags.cwd ?? ".");
  const { agent, settings } = await setUpAgent({
    config,
    settings: await readSettings(),
    name: flags.agent,
    root,
    asks: true,
    rules: flags,
  });
  const { tool, input } = callOf(text, inputJson, toolsFor(config, agent));
  const checked = await check(tool.schema, input);
  if (!checked.ok) throw usage(`Wrong input for ${tool.name}: ${checked.problem}`);
  const call = callFacts(tool, checked.value, root);
  const permission = permissionOf(config, settings);
  const mode = flags.mode ?? permission.mode ?? agent.permission.mode ?? "ask";
  const verdictWith = (allow: readonly string[]): Explanation => {
    const own = { ...agent.permission, allow: [...(agent.permission.allow ?? []), ...allow] };
    return explain(call, policyOf({ mode, rules: [] }, own, permission));
  };
  const explanation = verdictWith([]);
  const needed = explanation.verdict === "ask" ? neededRules(call) : [];
  const rules = verdictWith(needed).verdict === "allow" ? needed : [];
  const screen = newScreen();
  for (const line of flags.json === true ? [JSON.stringify({ ...explanation, rules })] : lines(explanation, rules)) {
    screen.data(line);
  }
  await screen.flush();
  return EXIT.done;
}

function callOf(
  text: string,
  inputJson: string | undefined,
  tools: readonly Tool[],
): { readonly tool: Tool; readonly input: unknown } {
  const named = (name: string | undefined): Tool | undefined => tools.find((tool) => tool.name === name);
  if (inputJson !== undefined) {
    const tool = named(text);
    if (tool === undefined) throw usage(`There is no tool ${JSON.stringify(text)}; there are: ${namesOf(tools)}`);
    return { tool, input: parseJson(inputJson, "The input") };
  }
  const [, name, inner = ""] = /^([\w:/.-]+)\((.*)\)$/s.exec(text) ?? [];
  const tool = named(name) ?? named(text);
  if (tool !== undefined) return { tool, input: inputOf(tool, inner) };
  const shell = named("shell");
  if (shell === undefined) throw usage(`Name a tool, as in read_file(README.md); there are: ${namesOf(tools)}`);
  return { tool: shell, input: { command: text } };
}

/** The text as the tool's first required member: a path, a command, an address. */
function inputOf(tool: Tool, text: string): unknown {
  const { required } = tool.inputSchema as { readonly required?: readonly string[] }; // JSON Schema of an object
  const [first] = required ?? [];
  return first === undefined ? {} : { [first]: text };
}

function namesOf(tools: readonly Tool[]): string {
  return tools.map(({ name }) => name).join(", ");
}

function lines({ verdict, reason, needs }: Explanation, rules: readonly string[]): readonly string[] {
  return [
    `${verdict}: ${inertLine(reason)}`,
    ...needs.map((one) => `  ${one.verdict.padEnd(5)}  ${inertLine(shownNeed(one.need))}: ${inertLine(one.reason)}`),
    ...(rules.length > 0 ? [`  allow with ${rules.map((rule) => `--allow '${inertLine(rule)}'`).join(" ")}`] : []),
  ];
}

function shownNeed(need: Need): string {
  switch (need.type) {
    case "read":
    case "write":
      return `${need.type} ${need.path}`;
    case "execute":
      return need.words?.[0] === null ? `not proved: ${need.command}` : `run ${need.command}`;
    case "fetch":
      return `fetch ${need.url}`;
    case "other":
      return need.what;
    default:
      return need satisfies never;
  }
}
