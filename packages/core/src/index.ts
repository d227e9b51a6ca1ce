/** @capstan/core: messages, events, the loop and its ports. Every public name, and nothing else. */

export { agent } from "./ports/agent.ts";
export type { ModelAnswer, ModelQuestion } from "./ports/plugin.ts";
export type { Agent, AgentDefinition, AgentLimits, Instructions, Permission, PermissionRules } from "./ports/agent.ts";
export { budgetLeft } from "./state/budget-left.ts";
export { systemClock, sleep, type Clock } from "./words/clock.ts";
export { cachePlan, LOOK_BACK_BLOCKS } from "./model/cache-plan.ts";
export type { Compacted, Compaction } from "./ports/plugin.ts";
export { conversation, CONVERSATION_FACTS, type Conversation } from "./state/conversation.ts";
export { decide, type Action, type HaltReason } from "./state/decide.ts";
export type { Definitions } from "./ports/definitions.ts";
export type { Drive, Engine, EventsOptions, FollowOptions, WorkOptions } from "./ports/engine.ts";
export { CapstanError, ERROR_CODES, messageOf, toProblem, type ErrorCode, type ErrorOptions } from "./words/errors.ts";
export { cursorOf, isLive } from "./words/event.ts";
export type {
  Cursor,
  Envelope,
  Event,
  Fact,
  FactBody,
  FactOf,
  IfBusy,
  Limits,
  Live,
  LiveBody,
  Metadata,
  NewFact,
  Overrides,
  Parent,
  PolicyText,
  PlanEntry,
  Problem,
  Rerun,
  StopReason,
  Tags,
  ToolKind,
  ToolStatus,
  TurnReason,
  WorkspaceRef,
} from "./words/event.ts";
export { INTERRUPT_MARKER } from "./state/said.ts";
export { systemIds, type Ids } from "./words/ids.ts";
export type { AppendOptions, Journal } from "./ports/journal.ts";
export { canonicalJson, hashJson, isArray, sha256, type Json } from "./words/json.ts";
export { LIMITS } from "./words/limits.ts";
export { memoryStore, type MemoryStore } from "./store-engine/memory-store.ts";
export { addUsage, NO_USAGE, text, textOf, textOutput } from "./words/message.ts";
export type {
  Bytes,
  DiffPart,
  FilePart,
  Message,
  OpaquePart,
  Part,
  ReasoningPart,
  Seal,
  SourcePart,
  TextPart,
  ToolCallPart,
  ToolOutput,
  ToolResultPart,
  Usage,
} from "./words/message.ts";
export type {
  Model,
  ModelCapabilities,
  ModelEvent,
  ModelRequest,
  ModelSettings,
  Price,
  ToolSpec,
} from "./ports/model.ts";
export type { Accepted, MailBody, MailboxEntry, Op, OpOf } from "./words/op.ts";
export { callFacts, policyOf, verdictIn } from "./hold/policy.ts";
export { evaluate, isMeant, parseRule, rulesFor } from "./permission/permission.ts";
export { PERMISSION_MODES } from "./words/verdict.ts";
export type { CallFacts, Policy, Rule } from "./permission/permission.ts";
export type { PermissionMode, Verdict } from "./words/verdict.ts";
export { claudeRules, type ClaudePlaces, type ClaudeRules } from "./permission/claude-rules.ts";
export { explain, type Explanation, type NeedVerdict } from "./permission/explain.ts";
export { listedTools, plugin } from "./ports/plugin.ts";
export { withCost } from "./model/price.ts";
export { partSize, sizeOf, textSize } from "./model/prompt-size.ts";
export type {
  HookContext,
  HookedCall,
  InputContext,
  InputNext,
  InputOutcome,
  KeptText,
  ModelNext,
  Plugin,
  PluginDefinition,
  PrepareChange,
  RejectedCall,
  ToolHookContext,
  ToolNext,
  ToolSource,
} from "./ports/plugin.ts";
export { isProtectedPath } from "./permission/protected-path.ts";
export { redactor, type Redactor } from "./words/redact.ts";
export type {
  Actor,
  Answer,
  OpenRequest,
  PermissionRequest,
  QuestionItem,
  RememberScope,
  RequestBody,
} from "./words/request.ts";
export { check, jsonSchema, toJsonSchema, type Checked, type Schema } from "./words/schema.ts";
export { drive } from "./run.ts";
export { failure } from "./session/run-handle.ts";
export { openRuntime } from "./session/runtime.ts";
export type { OpenSession, Runtime } from "./session/runtime.ts";
export { forgotten, pruneSessions, type Retention } from "./session/retention.ts";
export type { RuntimeHost, RuntimeOptions } from "./session/runtime-options.ts";
export type {
  HookRecord,
  Run,
  RunResult,
  SendOptions,
  SendOptionsOf,
  Session,
  SessionView,
} from "./session/session.ts";
export { initialState, reduce, STATE_VERSION, statusOf } from "./state/state.ts";
export type { CallState, QueuedInput, RunState, SessionState, TaskState, TurnState } from "./state/session-state.ts";
export { storeEngine, type StoreEngineOptions } from "./store-engine/store-engine.ts";
export { namedBlobs } from "./ports/store.ts";
export { firstSummary } from "./store-engine/summary.ts";
export type {
  Append,
  Claim,
  LogSlice,
  NewMail,
  NewSession,
  OwnerState,
  PendingSession,
  ReadFacts,
  SessionFilter,
  SessionSummary,
  Snapshot,
  Store,
} from "./ports/store.ts";
export type { SessionStatus } from "./state/session-state.ts";
export { builtIn, flowTool, tool } from "./ports/tool.ts";
export { modelName, serverOf } from "./words/tool-name.ts";
export type {
  FlowAnswer,
  FormOptions,
  Spawned,
  SpawnOptions,
  FlowContext,
  FlowStep,
  FlowToolDefinition,
  Probe,
  StepContext,
  StepPerform,
  Tool,
  ToolContext,
  ToolDefinition,
  ToolProgress,
  ToolResult,
} from "./ports/tool.ts";
export type { PermissionWord } from "./words/verdict.ts";
export type {
  ExecuteNeed,
  FileContent,
  FileInfo,
  ListOptions,
  Need,
  ReadOptions,
  RunOptions,
  RunOutcome,
  Workspace,
  WorkspaceFactory,
  WriteOptions,
} from "./ports/workspace.ts";
