/** Running a flow tool: code whose every effect is a named step, run again from its top after a restart. */

import { waitFor } from "../hold/await-request.ts";
import type { Hold } from "../hold/hold.ts";
import { openWorkspace } from "../hold/open-workspace.ts";
import { canAsk } from "../hold/policy.ts";
import { approvedBy, ask } from "../hold/requests.ts";
import { performStep, uniqueNames, UnknownOutcome } from "../hold/steps.ts";
import { endedOrIgnored, IGNORED } from "../hold/stop.ts";
import type {
  FlowAnswer,
  FlowContext,
  FormOptions,
  Spawned,
  SpawnOptions,
  StepPerform,
  Tool,
  ToolResult,
} from "../ports/tool.ts";
import { type CallEnd, failed, unknown } from "../state/call-end.ts";
import { hasOpenStep } from "../state/run-steps.ts";
import { CapstanError, forgettable, messageOf } from "../words/errors.ts";
import type { Rerun } from "../words/event.ts";
import { hashJson, type Json } from "../words/json.ts";
import { flowStep, isSleptStep, sleepTimer, sleptStep, taskWait } from "../words/keys.ts";
import { errorOutput, type ToolCallPart } from "../words/message.ts";
import { type AnswerTo, checkQuestions, type QuestionItem, type RequestBody } from "../words/request.ts";
import { toJsonSchema } from "../words/schema.ts";
import { keptResult, toolContext } from "./perform-tool.ts";
import { startTask } from "./tasks.ts";

/** Performs the flow to an end that can be recorded. It rejects when the run is halted; in a hold that parked it never settles. */
export async function performFlow(hold: Hold, tool: Tool, part: ToolCallPart, checked: unknown): Promise<CallEnd> {
  const stop = hold.stop({ halts: true });
  try {
    const running = runFlow(hold, tool, part, checked, stop.signal);
    const result = await endedOrIgnored(hold.definitions.clock, running, stop);
    if (result === IGNORED) return leftFlow(hold, part);
    return { status: "ok", output: await keptResult(hold, tool, result) };
  } catch (error) {
    if (hold.stopping || CapstanError.is(error)) throw error;
    return error instanceof UnknownOutcome ? unknown(error.message) : failed(messageOf(error));
  } finally {
    stop.end();
  }
}

/** A flow that did not stop when it was told to. A step that it had begun may yet happen. */
function leftFlow({ run }: Hold, { callId }: ToolCallPart): CallEnd {
  if (!hasOpenStep(run, callId)) return { status: "cancelled", output: errorOutput("Interrupted.") };
  return unknown(
    "Interrupted. A step did not stop: its outcome is unknown and it may yet happen. Check before any repeat.",
  );
}

async function runFlow(
  hold: Hold,
  tool: Tool,
  part: ToolCallPart,
  checked: unknown,
  signal: AbortSignal,
): Promise<ToolResult> {
  const { body } = tool;
  if (body.type !== "flow") throw new Error(`${tool.name} is not a flow`);
  const base = toolContext(
    hold,
    part,
    { attempt: 1, idempotencyKey: "", checked },
    { signal },
    await openWorkspace(hold),
  );
  const flow = new Flow(hold, tool, part, signal);
  const context: FlowContext = Object.defineProperties(
    {
      step: (name: string, ...rest: StepArguments) => forgettable(flow.step(name, ...rest)),
      ask: (...asked: Parameters<Flow["ask"]>) => forgettable(flow.ask(...asked)),
      question: (...asked: Parameters<Flow["question"]>) => forgettable(flow.question(...asked)),
      plan: (...asked: Parameters<Flow["plan"]>) => forgettable(flow.plan(...asked)),
      form: (...asked: Parameters<Flow["form"]>) => forgettable(flow.form(...asked)),
      sleep: (...slept: Parameters<Flow["sleep"]>) => forgettable(flow.sleep(...slept)),
      spawn: (...spawned: Parameters<Flow["spawn"]>) => forgettable(flow.spawn(...spawned)),
    },
    Object.getOwnPropertyDescriptors(base), // keeps `workspace` a getter
  ) as FlowContext; // these methods and the base make it whole
  try {
    const result = await body.flow(structuredClone(checked), context);
    flow.finish(tool.name);
    return result;
  } finally {
    flow.end();
  }
}

/** Of both overloads of `step`, behind the name. */
type StepArguments = [StepPerform<Json | void>] | [{ readonly rerun: Rerun }, StepPerform<Json | void>];

class Flow {
  readonly #hold: Hold;
  readonly #part: ToolCallPart;
  readonly #callId: string;
  readonly #toolHash: string;
  readonly #signal: AbortSignal;
  readonly #unique: (name: string) => void;
  /** Steps that the log holds and this run of the flow has not asked for yet. */
  readonly #recorded: Set<string>;
  #ended = false;

  constructor(hold: Hold, tool: Tool, part: ToolCallPart, signal: AbortSignal) {
    this.#hold = hold;
    this.#part = part;
    this.#toolHash = tool.hash;
    this.#callId = part.callId;
    this.#signal = signal;
    const unique = uniqueNames(`Flow ${part.name}`);
    this.#unique = (name) => {
      signal.throwIfAborted(); // a flow that was left does nothing more
      if (this.#ended) throw new Error(`Flow ${part.name} has ended: ${name} is not done`); // a branch of it that lost a race
      unique(name);
    };
    const own = flowStep(part.callId);
    const names = Object.keys(hold.run.steps).filter((name) => name.startsWith(own) && !isSleptStep(name));
    this.#recorded = new Set(names);
  }

  async step(name: string, ...rest: StepArguments): Promise<Json> {
    const [options, perform] = rest.length === 1 ? [{ rerun: "never" as const }, rest[0]] : rest;
    return performStep(
      this.#hold,
      { name: this.#take(name), rerun: options.rerun, signal: this.#signal, callId: this.#callId },
      perform,
    );
  }

  async ask(
    name: string,
    { title, detail }: { readonly title: string; readonly detail?: string },
  ): Promise<FlowAnswer> {
    this.#unique(name);
    const { name: tool, input } = this.#part;
    if (!canAsk(this.#hold)) return { allow: false, reason: "nobody can be asked" };
    const { answer } = await this.#answer(name, {
      type: "permission",
      callId: this.#callId,
      tool,
      input,
      title,
      ...(detail !== undefined && { reason: detail }),
      binding: { inputHash: hashJson({ input, title, detail: detail ?? null }), toolHash: this.#toolHash },
      remember: [],
      ...approvedBy(this.#hold),
    });
    if (answer.input !== undefined && hashJson(answer.input) !== hashJson(input))
      return { allow: false, reason: "the answer is for other arguments, and these cannot be changed any more" };
    return { allow: answer.allow, ...(answer.reason !== undefined && { reason: answer.reason }) };
  }

  async question(name: string, questions: readonly QuestionItem[]): Promise<AnswerTo<"question">> {
    this.#unique(name);
    checkQuestions(questions);
    if (!canAsk(this.#hold)) return { type: "question", answers: {} };
    const { answer } = await this.#answer(name, { type: "question", callId: this.#callId, questions });
    return answer;
  }

  async plan(name: string, markdown: string): Promise<FlowAnswer> {
    this.#unique(name);
    if (!canAsk(this.#hold)) return { allow: false, reason: "nobody can be asked" };
    const body = { type: "plan", callId: this.#callId, markdown, ...approvedBy(this.#hold) } as const;
    const { answer } = await this.#answer(name, body);
    return { allow: answer.allow, ...(answer.reason !== undefined && { reason: answer.reason }) };
  }

  async form(name: string, { message, schema, url }: FormOptions): Promise<AnswerTo<"form">> {
    this.#unique(name);
    if (!canAsk(this.#hold)) return { type: "form", decline: true };
    const { answer } = await this.#answer(name, {
      type: "form",
      callId: this.#callId,
      origin: this.#part.name,
      message,
      ...(schema !== undefined && { schema: toJsonSchema(schema, `The form ${name}`) }),
      ...(url !== undefined && { url }),
    });
    return answer;
  }

  async sleep(name: string, ms: number): Promise<void> {
    const key = this.#take(name);
    if (!Number.isSafeInteger(Math.ceil(ms)))
      throw new Error(`a sleep lasts a number of milliseconds, not ${String(ms)}`);
    const { journal } = this.#hold;
    const until = await performStep(
      this.#hold,
      { name: key, rerun: "safe", signal: this.#signal },
      () => journal.now() + Math.ceil(ms),
    );
    const awake = (): true | undefined =>
      this.#hold.state.run?.steps[sleptStep(key)] === undefined ? undefined : true;
    if (awake() === true) return;
    await this.#hold.append([], { timers: [{ name: sleepTimer(key), at: Number(until) }] });
    await waitFor(this.#hold, this.#callId, sleepTimer(key), awake);
  }

  async spawn(name: string, agent: string, input: string, options: SpawnOptions = {}): Promise<Spawned> {
    const taskId = this.#take(name);
    const { output, background = false } = options;
    const ended = (): Spawned | undefined => {
      const value = this.#hold.state.run?.steps[taskId] as Omit<Spawned, "taskId"> | undefined; // written by the end of a task
      return value === undefined ? undefined : { taskId, ...value };
    };
    const done = ended();
    if (done !== undefined) return done;
    const among = await this.#hold.sharing(this.#callId);
    const task = { taskId, callId: this.#callId, agent, input, background };
    const schema = output === undefined ? {} : { outputSchema: toJsonSchema(output, `The output of ${name}`) };
    await startTask(this.#hold, { ...task, ...schema }, { among });
    if (background) return { taskId, status: "running", text: "" };
    return waitFor(this.#hold, this.#callId, taskWait(taskId), ended);
  }

  /** Finished steps that the code did not ask for mean that it changed since: going on would repeat or lose effects. */
  finish(tool: string): void {
    if (this.#recorded.size === 0) return;
    throw new CapstanError(
      "flow-diverged",
      `Flow ${tool} did not ask for its recorded steps ${[...this.#recorded].join(", ")}; its code changed while it ran`,
    );
  }

  /** What its code still does, such as a branch that nobody waited for, has no effect: the model has its result. */
  end(): void {
    this.#ended = true;
  }

  #answer<Type extends RequestBody["type"]>(
    name: string,
    body: Extract<RequestBody, { readonly type: Type }>,
  ): ReturnType<typeof ask<Type>> {
    return ask(this.#hold, this.#callId, `${this.#callId}/${name}`, body);
  }

  #take(name: string): string {
    this.#unique(name);
    const key = flowStep(this.#callId, name);
    this.#recorded.delete(key);
    return key;
  }
}
