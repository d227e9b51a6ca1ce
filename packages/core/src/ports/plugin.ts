/** Plugins: named bundles of behaviour that hook into the loop. */

import type { SessionState } from "../state/session-state.ts";
import { CapstanError } from "../words/errors.ts";
import type { Envelope, Fact, FactOf, PlanEntry, TurnReason } from "../words/event.ts";
import type { Json } from "../words/json.ts";
import type { Message, Part, ToolOutput, Usage } from "../words/message.ts";
import type { PermissionWord } from "../words/verdict.ts";
import type { Definitions } from "./definitions.ts";
import type { Model, ModelEvent, ModelRequest, ModelSettings, ToolSpec } from "./model.ts";
import type { StepPerform, Tool } from "./tool.ts";
import type { Workspace } from "./workspace.ts";

export type ModelQuestion = {
  /** Default: the model that the run asks. */
  readonly model?: Model | string;
  readonly system: string;
  /** Shown, never called: a request that begins as the conversation's does is read from its cache. */
  readonly tools?: readonly ToolSpec[];
  readonly messages: readonly Message[];
  readonly settings?: ModelSettings;
  readonly cache?: readonly number[];
};
export type ModelAnswer = { readonly text: string; readonly reason: TurnReason; readonly usage: Usage };

export type Compaction = {
  /** Id of the last message that the summary stands for. */
  readonly through: string;
  readonly summary: readonly Part[];
  /** `overflow`: the turn that did not fit is tried again. */
  readonly trigger: FactOf<"context.compacted">["trigger"];
};
/** By the provider's count where there is one, else estimated. */
export type Compacted = { readonly tokensBefore: number; readonly tokensAfter: number };

/** A text as it was kept, secrets taken out, and what names it. */
export type KeptText = { readonly hash: string; readonly text: string };

/** What every hook but `on`, `model` and `reject` gets. */
export type HookContext<Own = unknown> = {
  /** The plugin's own durable state: its `fold` over all facts so far. */
  readonly own: Own;
  readonly state: SessionState;
  readonly sessionId: string;
  readonly runId: string;
  /** Aborts when the run is interrupted, the hold is lost, or the hook took too long. */
  readonly signal: AbortSignal;
  /** One named effect, recorded: after a crash it answers from the log. The name is unique in this hook of this action. */
  step<T extends Json | void>(name: string, perform: StepPerform<T>): Promise<T>;
  /** Writes a `data` fact named `plugin/<name>`, seen by `fold`. */
  record(data: Json): Promise<void>;
  /** Writes a `plan.updated` fact: what people are shown of the work's steps. */
  showPlan(entries: readonly PlanEntry[]): Promise<void>;
  /** The session's workspace, to look at: what changes it is a `step`. Throws `workspace-missing` when the session has none. */
  workspace(): Promise<Workspace>;
  /** Keeps a long text beside the log. It lasts as long as the session once a recorded fact names it as `{ "blob": hash }`. */
  keepText(text: string): Promise<KeptText>;
  /** Throws `blob-missing`. */
  keptText(hash: string): Promise<string>;
  /** A question to a model beside the conversation: a named step, paid from the run's budget. Its time is not the hook's. */
  askModel(name: string, question: ModelQuestion): Promise<ModelAnswer>;
  /** The messages that the model would be asked with now. The list is live: copy what is kept. */
  conversation(): Promise<readonly Message[]>;
  /** The model that the run asks. */
  model(): Promise<Pick<Model, "id" | "capabilities">>;
  /** A summary takes the place of the conversation's beginning from the next request on, this one included. */
  compact(compaction: Compaction): Promise<Compacted>;
  /** Tells people something, live only. */
  notice(title: string, detail?: string): void;
};

export type InputOutcome =
  | { readonly type: "accept"; readonly message: Message }
  | { readonly type: "answer"; readonly text: string }
  | { readonly type: "refuse"; readonly reason: string };
export type InputContext<Own> = HookContext<Own> & {
  answer(text: string): InputOutcome;
  refuse(reason: string): InputOutcome;
};
export type InputNext = (message: Message) => Promise<InputOutcome>;

/** What `prepare` may change. `tail` is shown to the model in this call only; the rest must declare the break of the cache prefix. */
export type PrepareChange = {
  readonly tail?: readonly Part[];
  readonly settings?: ModelSettings;
  readonly system?: string;
  readonly tools?: readonly ToolSpec[];
  /** Why the cached prefix is given up; required with `system` or `tools`. */
  readonly breaksPrefix?: string;
};

/** A call on its way through the `tool` hooks. A hook passes a changed copy on; `verdict` is its own word on permission. */
export type HookedCall = {
  readonly callId: string;
  readonly name: string;
  readonly input: Json;
  readonly tool: Tool;
  readonly verdict?: PermissionWord;
  /** Set by the loop: the verdict without the word of a sub-agent's own plugins, who cannot consent for its ancestors. */
  readonly outerVerdict?: PermissionWord | undefined;
};
export type ToolHookContext<Own> = HookContext<Own> & {
  /** A result instead of the call. */
  answer(text: string, options?: { readonly isError?: boolean }): ToolOutput;
  /** Refuses the call: the model reads the reason. */
  deny(reason: string): ToolOutput;
};
export type ToolNext = (call: HookedCall) => Promise<ToolOutput>;
/** A call that cannot be made. `tool` is the one it meant, when there is one. */
export type RejectedCall = {
  readonly callId: string;
  readonly name: string;
  /** As the model wrote it; a string when that was not JSON. */
  readonly input: Json;
  readonly cause: "unknown-tool" | "wrong-arguments";
  readonly tool?: Tool;
  /** Tools that may be called, by the names that the model knows. */
  readonly known: readonly string[];
};
export type ModelNext = (request: ModelRequest) => AsyncIterable<readonly ModelEvent[]>;

export type ToolSource = () => readonly Tool[] | Promise<readonly Tool[]>;

export type PluginDefinition<Own> = {
  readonly name: string;
  readonly fold?: { readonly start: Own; readonly next: (own: Own, fact: Fact) => Own };
  /** An accepted input is taken up: rewrite it, answer it, refuse it. */
  input?(message: Message, context: InputContext<Own>, next: InputNext): Promise<InputOutcome> | InputOutcome;
  /** Before each model call. */
  prepare?(request: ModelRequest, context: HookContext<Own>): Promise<PrepareChange | void> | PrepareChange | void;
  /** Around the model call, inside its step. */
  model?(request: ModelRequest, context: { readonly own: Own }, next: ModelNext): AsyncIterable<readonly ModelEvent[]>;
  /** Around a call. */
  tool?(call: HookedCall, context: ToolHookContext<Own>, next: ToolNext): Promise<ToolOutput> | ToolOutput;
  /** A call that cannot be made, which `tool` hooks do not see: returns what the model reads instead of the standard error. */
  reject?(
    call: RejectedCall,
    output: ToolOutput,
    context: { readonly own: Own },
  ): Promise<ToolOutput | void> | ToolOutput | void;
  /** A turn did not fit the model's context: a hook that compacts with the trigger `overflow` has it tried again, once. */
  overflow?(request: ModelRequest, context: HookContext<Own>): Promise<void> | void;
  /** Before a run ends: returns one more message for the model, or nothing. */
  stop?(state: SessionState, context: HookContext<Own>): Promise<string | void> | string | void;
  /** Every event once, in order, from an own bounded queue. Never awaited by the loop; only the next event waits for it. */
  on?(event: Envelope): Promise<void> | void;
  /**
   * A list, or a function that is asked where a run begins and where a process takes a session up; what it gives stays for
   * that run. It has the time of a hook; where it fails, what it gave last holds. An agent's own tool of the same name wins.
   */
  readonly tools?: readonly Tool[] | ToolSource;
  /** Called once when a runtime opens, with what that runtime knows; what it returns is disposed when the runtime closes. */
  open?(runtime: Definitions): Promise<AsyncDisposable | void> | AsyncDisposable | void;
  /** What happens when a hook of this plugin throws or times out; default as in the table of docs/plugins.md. */
  readonly onFailure?: "fail" | "ignore";
  /** "run": takes part only in the runs whose `send` names it in `plugins`, and in those of their sub-agents. Default: in all. */
  readonly scope?: "run";
  /** Time one of its hooks has, not counting what it awaits through `next`. Default `LIMITS.hookTimeoutMs`. */
  readonly timeoutMs?: number;
};
/** A plugin whose own state is hidden: what an agent holds. */
export type Plugin = PluginDefinition<unknown>;

/** The tools that a plugin lists: none of one that is asked for them where a run begins. */
export function listedTools({ tools = [] }: Plugin): readonly Tool[] {
  return typeof tools === "function" ? [] : tools;
}

/** Whether its tools are known only where a run begins. */
export function asksForTools({ tools }: Plugin): boolean {
  return typeof tools === "function";
}

/** Defines a plugin; `Own` is the type of its fold. Throws `plugin-invalid`. */
export function plugin<Own = undefined>(definition: PluginDefinition<Own>): Plugin {
  if (definition.name.trim() === "") throw new CapstanError("plugin-invalid", "A plugin needs a name");
  if (definition.scope === "run" && (definition.tools !== undefined || definition.on !== undefined)) {
    const problem = `Plugin ${definition.name} is for single runs: "tools" and "on" are of the whole session`;
    throw new CapstanError("plugin-invalid", problem);
  }
  return Object.freeze({ ...definition }) as unknown as Plugin; // Own is only ever handed back to this plugin's own functions
}
