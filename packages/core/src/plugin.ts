/** Plugins: named bundles of behaviour that hook into the loop at six places. */

import { CapstanError } from "./errors.ts";
import type { Envelope, Fact } from "./event.ts";
import type { Json } from "./json.ts";
import type { Message, Part, ToolOutput } from "./message.ts";
import type { ModelEvent, ModelRequest, ModelSettings, ToolSpec } from "./model.ts";
import type { SessionState } from "./session-state.ts";
import type { PermissionWord, StepPerform, Tool } from "./tool.ts";

/** What every hook but `on` and `model` gets. */
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
};
export type ToolHookContext<Own> = HookContext<Own> & {
  /** A result instead of the call. */
  answer(text: string, options?: { readonly isError?: boolean }): ToolOutput;
  /** Refuses the call: the model reads the reason. */
  deny(reason: string): ToolOutput;
};
export type ToolNext = (call: HookedCall) => Promise<ToolOutput>;
export type ModelNext = (request: ModelRequest) => AsyncIterable<readonly ModelEvent[]>;

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
  /** Before a run ends: returns one more message for the model, or nothing. */
  stop?(state: SessionState, context: HookContext<Own>): Promise<string | void> | string | void;
  /** Every event, from an own bounded queue; never awaited. */
  on?(event: Envelope): void;
  readonly tools?: readonly Tool[];
  /** Called once when a runtime opens; what it returns is disposed when the runtime closes. */
  open?(): Promise<AsyncDisposable | void> | AsyncDisposable | void;
  /** What happens when a hook of this plugin throws or times out; default as in the table of docs/plugins.md. */
  readonly onFailure?: "fail" | "ignore";
};
/** A plugin whose own state is hidden: what an agent holds. */
export type Plugin = PluginDefinition<unknown>;

/** Defines a plugin; `Own` is the type of its fold. Throws `plugin-invalid`. */
export function plugin<Own = undefined>(definition: PluginDefinition<Own>): Plugin {
  if (definition.name.trim() === "") throw new CapstanError("plugin-invalid", "A plugin needs a name");
  return Object.freeze({ ...definition }) as unknown as Plugin; // Own is only ever handed back to this plugin's own functions
}
