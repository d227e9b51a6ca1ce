/** Structured output: a run whose answer is a value that fits a schema. The model is given the schema, else a last tool to call. */

import type { Hold } from "../hold/hold.ts";
import { within } from "../hold/within.ts";
import type { Model, ModelSettings } from "../ports/model.ts";
import { FINAL_TOOL, outputFrom, outputOf, type OutputSpec } from "../ports/output-spec.ts";
import type { Tool } from "../ports/tool.ts";
import { saidFact } from "../state/said.ts";
import type { RunState } from "../state/session-state.ts";
import type { NewFact } from "../words/event.ts";
import type { Json } from "../words/json.ts";
import { LIMITS } from "../words/limits.ts";
import { textOf } from "../words/message.ts";

function outputOfRun(hold: Hold): OutputSpec | undefined {
  return outputOf(hold.agent, hold.run.overrides?.outputSchema);
}

/** What a request says of the output: the schema to a model that takes one; after a wrong answer the others must call the tool. */
export async function outputSettings(
  hold: Hold,
  model: Model,
  tools: readonly { readonly name: string }[],
): Promise<ModelSettings> {
  const spec = outputOfRun(hold);
  if (spec === undefined) return {};
  if (model.capabilities.structured === true) return { outputSchema: spec.json };
  const { messages } = await hold.conversation();
  const repairing = messages.at(-1)?.id.startsWith(repairId(hold)) === true;
  // a model that was swapped in since the run began is not offered the last tool
  return repairing && tools.some(({ name }) => name === FINAL_TOOL) ? { toolChoice: { tool: FINAL_TOOL } } : {};
}

/** The model that the run asks now. Throws `model-unknown`. */
export function modelOfRun(hold: Hold): Promise<Model> {
  const { definitions, agent, state } = hold;
  return within(hold, "Finding the model", definitions.model(agent, state.run?.overrides?.model ?? state.model));
}

/** The last tool, where the run needs it: its model cannot be given the schema. */
export async function finalTool(hold: Hold): Promise<Tool | undefined> {
  const spec = outputOfRun(hold);
  if (spec === undefined) return undefined;
  const model = await modelOfRun(hold);
  return model.capabilities.structured === true ? undefined : spec.tool;
}

/** An accepted call of the last tool becomes the run's last message, which settles it. Answers whether it did. */
export async function settleOutput(hold: Hold): Promise<boolean> {
  const { run } = hold;
  if (run.settled || outputOfRun(hold) === undefined) return false;
  if (run.calls.some(({ handoff }) => handoff !== undefined)) return false; // of one who is no longer in charge
  const { messages } = await hold.conversation();
  const results = messages.at(-1)?.parts ?? [];
  const accepted = results.find(
    (part) => part.type === "tool-result" && part.name === FINAL_TOOL && part.output.isError !== true,
  );
  const call = run.calls.find(({ part }) => accepted?.type === "tool-result" && part.callId === accepted.callId);
  if (call === undefined) return false;
  const id = outputId(run);
  await hold.append([saidFact(run.id, id, "assistant", JSON.stringify(call.part.input))]);
  return true;
}

/** Whether the run's answer is a call of the last tool, not a hook's word: `stop` hooks have their say as with any answer. */
export async function isSettledByTool(hold: Hold): Promise<boolean> {
  const { messages } = await hold.conversation();
  return messages.at(-1)?.id === outputId(hold.run);
}

/** Another one each turn: a `stop` hook may want another answer. */
function outputId({ id, turns }: Pick<RunState, "id" | "turns">): string {
  return `${id}/output/${turns}`;
}

function repairId(hold: Hold): string {
  return `${hold.run.id}/repair/`;
}

export type OutputEnd =
  | { readonly type: "done"; readonly output?: Json }
  | { readonly type: "repair"; readonly fact: NewFact }
  | { readonly type: "failed"; readonly problem: string };

/** What the end of the model's work comes to: its answer as a value, one more try, or an answer that does not fit. */
export async function outputEnd(
  hold: Hold,
  /** Tools of the run's requests. */
  offered: readonly { readonly name: string }[],
): Promise<OutputEnd> {
  const { run } = hold;
  const spec = outputOfRun(hold);
  if (spec === undefined) return { type: "done" };
  const { messages } = await hold.conversation();
  const last = messages.at(-1);
  const text = last?.role === "assistant" ? textOf(last.parts) : ""; // nothing said: an older answer is none to this
  const checked = await within(hold, "The output's schema", outputFrom(spec, text));
  if (checked.ok) return { type: "done", output: JSON.parse(JSON.stringify(checked.value ?? null)) as Json }; // a schema may make what is no JSON
  if (run.settled) return { type: "done" }; // a hook has answered in the model's place
  const tries = messages.filter((message) => message.id.startsWith(repairId(hold))).length;
  if (tries >= LIMITS.outputRepairs) return { type: "failed", problem: checked.problem };
  const id = `${repairId(hold)}${run.turns}`;
  const how =
    (await finalTool(hold)) !== undefined && offered.some(({ name }) => name === FINAL_TOOL)
      ? `Give it by calling the tool ${FINAL_TOOL}.`
      : `Answer again with nothing but JSON that fits this JSON Schema: ${JSON.stringify(spec.json)}`;
  const said = `<system>Your answer does not fit the required output: ${checked.problem}. ${how}</system>`;
  return { type: "repair", fact: saidFact(run.id, id, "user", said) };
}
