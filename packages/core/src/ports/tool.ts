/** What the model may do: `tool()` for one effect, `flowTool()` for several, a tool without a body for a client. */

import { CapstanError } from "../words/errors.ts";
import type { Metadata, Rerun, ToolKind } from "../words/event.ts";
import { hashJson, type Json } from "../words/json.ts";
import type { ToolOutput } from "../words/message.ts";
import type { Actor, Answer, QuestionItem } from "../words/request.ts";
import { type Schema, toJsonSchema } from "../words/schema.ts";
import { isToolName, serverOf } from "../words/tool-name.ts";
import type { PermissionWord, Verdict } from "../words/verdict.ts";
import type { Need, Workspace } from "./workspace.ts";

export type ToolProgress = {
  readonly stream?: "stdout" | "stderr";
  readonly chunk?: string;
  readonly progress?: number;
  readonly total?: number;
  readonly message?: string;
};

export type ToolContext = {
  readonly callId: string;
  readonly runId: string;
  /** 0 in a session without a parent. */
  readonly depth: number;
  /** 1 on the first try; higher when a crash made it run again. */
  readonly attempt: number;
  /** The same on every try of this call: hand it to the service that performs the effect. */
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
  /** Throws `workspace-missing` when the session has none. */
  readonly workspace: Workspace;
  readonly session: { readonly id: string; readonly key?: string; readonly metadata: Metadata };
  readonly actor: Actor;
  /** Shown live, never stored. */
  readonly progress: (update: ToolProgress) => void;
  /**
   * What rules say of something more that this call turns out to touch, such as where a redirect leads. Nobody is asked.
   * Only calls of one effect have it; without it nothing more is permitted.
   */
  readonly judge?: (needs: readonly Need[]) => Promise<Verdict>;
};

/** A string, JSON, a ready `ToolOutput`, or nothing. */
export type ToolResult = ToolOutput | Json | void;
export type Probe = "happened" | "did-not" | "unknown";

export type StepContext = { readonly signal: AbortSignal; readonly idempotencyKey: string };
export type StepPerform<T> = (context: StepContext) => Promise<T> | T;
export type FlowContext = Omit<ToolContext, "attempt" | "idempotencyKey" | "judge"> & {
  /** One named effect. A finished step answers from the log after a restart. `rerun` defaults to `never`. */
  readonly step: FlowStep;
  /** Asks a person for permission to go on. */
  readonly ask: (name: string, request: { readonly title: string; readonly detail?: string }) => Promise<FlowAnswer>;
  /** Asks a person 1 to 4 questions. */
  readonly question: (
    name: string,
    questions: readonly QuestionItem[],
  ) => Promise<Extract<Answer, { type: "question" }>>;
  /** Shows a plan and asks whether to go on with it. */
  readonly plan: (name: string, markdown: string) => Promise<FlowAnswer>;
  /** Asks a person to fill in a form, or to open a page. `content` fits the schema unless it was declined. */
  readonly form: (name: string, options: FormOptions) => Promise<Extract<Answer, { type: "form" }>>;
  /** Waits without holding a process; survives restarts. */
  readonly sleep: (name: string, ms: number) => Promise<void>;
  /** Gives a task to another agent of the runtime, in a session of its own, and waits for its end. */
  readonly spawn: (name: string, agent: string, task: string, options?: SpawnOptions) => Promise<Spawned>;
};
export type FormOptions = { readonly message: string; readonly schema?: Schema; readonly url?: string };
export type SpawnOptions = {
  /** What the sub-agent must answer, in place of its own `output`. */
  readonly output?: Schema;
  /** Does not wait: the session hears of the end whenever it comes. */
  readonly background?: boolean;
};
/** `text` is the sub-agent's last text when it completed, else what went wrong; `output` its structured answer. */
export type Spawned = {
  readonly taskId: string;
  readonly status: "running" | "completed" | "failed" | "stopped" | "lost";
  readonly text: string;
  readonly output?: Json;
};
export type FlowStep = {
  <T extends Json | void>(name: string, perform: StepPerform<T>): Promise<T>;
  <T extends Json | void>(name: string, options: { readonly rerun: Rerun }, perform: StepPerform<T>): Promise<T>;
};
export type FlowAnswer = { readonly allow: boolean; readonly reason?: string };

type Common<Input> = {
  /** Of a tool of an MCP server `mcp:server/tool`, which the model reads as `server__tool`. */
  readonly name: string;
  readonly description: string;
  readonly input: Schema<Input>;
  readonly output?: Schema;
  readonly kind?: ToolKind;
  /** One line for the person who approves. */
  readonly title?: (input: Input) => string;
  readonly permission?: PermissionWord | ((input: Input) => PermissionWord);
  /** What the call touches, for rules; without it the call touches `other`. */
  readonly needs?: (input: Input) => readonly Need[];
  /** May run beside other calls of the same turn although it is not `safe`. */
  readonly parallel?: boolean;
  /** Default `LIMITS.toolTimeoutMs`. */
  readonly timeoutMs?: number;
};
export type ToolDefinition<Input> = Common<Input> & {
  readonly rerun?: Rerun;
  /** `false`: an interrupt waits for the end of the call. */
  readonly interruptible?: boolean;
  readonly execute?: (input: Input, context: ToolContext) => Promise<ToolResult> | ToolResult;
  /** Asked after a crash between intent and result of a `never` call. Reads only. */
  readonly probe?: (input: Input, context: ToolContext) => Promise<Probe> | Probe;
};
/** A flow has no time limit of its own: it may wait for a person for days. */
export type FlowToolDefinition<Input> = Omit<Common<Input>, "timeoutMs"> & {
  readonly flow: (input: Input, context: FlowContext) => Promise<ToolResult> | ToolResult;
};

/**
 * A finished definition. `body` says how it runs: one effect, a flow, a result given from outside, or another agent that
 * takes over. Functions of the input are methods, so that a tool of any input fits: they may be given only what `schema`
 * has checked.
 */
export type Tool = {
  readonly name: string;
  /** The MCP server in its name: the tool asks unless a rule allows it, whatever it says of what it touches. */
  readonly server?: string;
  /** Left out of the model's list: a `prepare` hook shows it when it is wanted. It can be called all the same. */
  readonly hidden?: true;
  readonly description: string;
  readonly kind: ToolKind;
  readonly rerun: Rerun;
  readonly parallel: boolean;
  readonly interruptible: boolean;
  readonly timeoutMs?: number;
  /** Comes with Capstan: what writes, runs or fetches asks unless a rule allows it. */
  readonly builtIn: boolean;
  readonly inputSchema: Json;
  /** Of name, description, input schema, rerun: approvals are bound to it. */
  readonly hash: string;
  readonly schema: Schema;
  readonly outputSchema?: Schema;
  title(input: unknown): string;
  readonly permission?: PermissionWord | PermissionOf;
  needs(input: unknown): readonly Need[];
  readonly body:
    | { readonly type: "execute"; execute(input: unknown, context: ToolContext): Promise<ToolResult> | ToolResult }
    | { readonly type: "flow"; flow(input: unknown, context: FlowContext): Promise<ToolResult> | ToolResult }
    | { readonly type: "client" }
    | { readonly type: "handoff"; readonly agent: string };
  readonly probe?: ProbeOf;
};
/** Properties that may be looked at without a call, typed by a method as the members of `Tool` are: see there. */
type PermissionOf = { of(input: unknown): PermissionWord }["of"];
type ProbeOf = { of(input: unknown, context: ToolContext): Promise<Probe> | Probe }["of"];

/** Defines a tool of one effect; without `execute` its result is supplied from outside by `respond`. Throws `tool-invalid`. */
export function tool<Input>(definition: ToolDefinition<Input>): Tool {
  const { execute, probe } = definition;
  return Object.freeze({
    ...common(definition),
    rerun: definition.rerun ?? "never",
    interruptible: definition.interruptible ?? true,
    body: execute === undefined ? { type: "client" as const } : { type: "execute" as const, execute },
    ...(probe !== undefined && { probe }),
  });
}

/** Defines a tool of several effects, each a named step of its own. Throws `tool-invalid`. */
export function flowTool<Input>(definition: FlowToolDefinition<Input>): Tool {
  return Object.freeze({
    ...common(definition),
    rerun: "safe" as const,
    interruptible: true,
    body: { type: "flow" as const, flow: definition.flow },
  });
}

/** The same tool marked as coming with Capstan. */
export function builtIn(definition: Tool): Tool {
  return Object.freeze({ ...definition, builtIn: true });
}

function common<Input>(
  definition: Common<Input> & { readonly rerun?: Rerun },
): Omit<Tool, "rerun" | "interruptible" | "body" | "probe"> {
  const { name, description } = definition;
  if (!isToolName(name)) {
    throw new CapstanError(
      "tool-invalid",
      `Tool name ${JSON.stringify(name)} is not usable: letters, digits, "_" and "-", a letter first, at most 64; or mcp:server/tool`,
    );
  }
  if (description.trim() === "") throw new CapstanError("tool-invalid", `Tool ${name} needs a description`);
  if (definition.timeoutMs !== undefined && !(definition.timeoutMs > 0))
    throw new CapstanError("tool-invalid", `Tool ${name}: timeoutMs must be a number above 0`);
  const inputSchema = toJsonSchema(definition.input, `Tool ${name}`);
  const server = serverOf(name);
  return {
    name,
    ...(server !== undefined && { server }),
    description,
    kind: definition.kind ?? "other",
    parallel: definition.parallel ?? false,
    builtIn: false,
    inputSchema,
    hash: hashJson({ name, description, inputSchema, rerun: definition.rerun ?? "never" }),
    schema: definition.input,
    title: definition.title ?? (() => name),
    needs: definition.needs ?? (() => [{ type: "other" as const, what: name }]),
    ...(definition.timeoutMs !== undefined && { timeoutMs: definition.timeoutMs }),
    ...(definition.output !== undefined && { outputSchema: definition.output }),
    ...(definition.permission !== undefined && { permission: definition.permission }),
  };
}
