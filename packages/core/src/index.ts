/** @capstan/core: messages, events, the loop and its ports. Every public name, and nothing else. */

export { agent } from "./agent.ts";
export type { ModelAnswer, ModelQuestion } from "./ask-model.ts";
export type { Agent, AgentDefinition, AgentLimits, Instructions, Permission, PermissionRules } from "./agent.ts";
export { budgetLeft } from "./budget.ts";
export { systemClock, sleep, type Clock } from "./clock.ts";
export { cachePlan, LOOK_BACK_BLOCKS } from "./cache-plan.ts";
export type { Compacted, Compaction } from "./compact.ts";
export { conversation, CONVERSATION_FACTS, type Conversation } from "./conversation.ts";
export { decide, type Action, type HaltReason } from "./decide.ts";
export type { Definitions } from "./definitions.ts";
export type { Drive, Engine, EventsOptions, FollowOptions, WorkOptions } from "./engine.ts";
export { CapstanError, ERROR_CODES, messageOf, toProblem, type ErrorCode, type ErrorOptions } from "./errors.ts";
export { cursorOf, isLive } from "./event.ts";
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
} from "./event.ts";
export { INTERRUPT_MARKER } from "./finish-run.ts";
export { systemIds, type Ids } from "./ids.ts";
export type { AppendOptions, Journal } from "./journal.ts";
export { canonicalJson, hashJson, isArray, sha256, type Json } from "./json.ts";
export { LIMITS } from "./limits.ts";
export { memoryStore, type MemoryStore } from "./store-engine/memory-store.ts";
export { addUsage, NO_USAGE, text, textOf, textOutput } from "./message.ts";
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
} from "./message.ts";
export type { Model, ModelCapabilities, ModelEvent, ModelRequest, ModelSettings, Price, ToolSpec } from "./model.ts";
export type { Accepted, MailBody, MailboxEntry, Op, OpOf } from "./op.ts";
export { callFacts, policyOf, verdictIn } from "./permission/policy.ts";
export { evaluate, isMeant, parseRule, PERMISSION_MODES, rulesFor } from "./permission/permission.ts";
export type { CallFacts, PermissionMode, Policy, Rule, Verdict } from "./permission/permission.ts";
export { claudeRules, type ClaudePlaces, type ClaudeRules } from "./permission/permission-claude.ts";
export { explain, type Explanation, type NeedVerdict } from "./permission/permission-explain.ts";
export { listedTools, plugin } from "./plugin.ts";
export { withCost } from "./price.ts";
export { partSize, sizeOf, textSize } from "./prompt-size.ts";
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
} from "./plugin.ts";
export { isProtectedPath } from "./permission/protected-path.ts";
export { redactor, type Redactor } from "./redact.ts";
export type {
  Actor,
  Answer,
  OpenRequest,
  PermissionRequest,
  QuestionItem,
  RememberScope,
  RequestBody,
} from "./request.ts";
export { check, jsonSchema, toJsonSchema, type Checked, type Schema } from "./schema.ts";
export { drive } from "./run.ts";
export { failure } from "./run-handle.ts";
export { openRuntime } from "./runtime.ts";
export type { OpenSession, Runtime } from "./runtime.ts";
export { forgotten, pruneSessions, type Retention } from "./store-engine/retention.ts";
export type { RuntimeHost, RuntimeOptions } from "./runtime-options.ts";
export type { HookRecord, Run, RunResult, SendOptions, SendOptionsOf, Session, SessionView } from "./session.ts";
export { initialState, reduce, STATE_VERSION, statusOf } from "./state.ts";
export type { CallState, QueuedInput, RunState, SessionState, TaskState, TurnState } from "./session-state.ts";
export { storeEngine, type StoreEngineOptions } from "./store-engine/store-engine.ts";
export { namedBlobs } from "./store.ts";
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
  SessionStatus,
  SessionSummary,
  Snapshot,
  Store,
} from "./store.ts";
export { builtIn, flowTool, tool } from "./tool.ts";
export { modelName, serverOf } from "./tool-name.ts";
export type {
  FlowAnswer,
  FormOptions,
  Spawned,
  SpawnOptions,
  FlowContext,
  FlowStep,
  FlowToolDefinition,
  PermissionWord,
  Probe,
  StepContext,
  StepPerform,
  Tool,
  ToolContext,
  ToolDefinition,
  ToolProgress,
  ToolResult,
} from "./tool.ts";
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
} from "./workspace.ts";
