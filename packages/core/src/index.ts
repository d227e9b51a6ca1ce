/** @capstan/core: messages, events, the loop and its ports. Every public name, and nothing else. */

export { systemClock, sleep, type Clock } from "./clock.ts";
export type { Drive, Engine, EventsOptions, WorkOptions } from "./engine.ts";
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
  PlanEntry,
  Problem,
  Rerun,
  StopReason,
  ToolKind,
  ToolStatus,
  TurnReason,
  WorkspaceRef,
} from "./event.ts";
export { systemIds, type Ids } from "./ids.ts";
export type { AppendOptions, Journal } from "./journal.ts";
export { canonicalJson, hashJson, isArray, sha256, type Json } from "./json.ts";
export { LIMITS } from "./limits.ts";
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
export type { Model, ModelCapabilities, ModelEvent, ModelRequest, ModelSettings, ToolSpec } from "./model.ts";
export type { Accepted, MailBody, MailboxEntry, Op, OpOf } from "./op.ts";
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
export { firstSummary, namedBlobs } from "./store.ts";
export type {
  Append,
  Claim,
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
export type {
  FlowAnswer,
  FlowContext,
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
  FileContent,
  FileInfo,
  Need,
  ReadOptions,
  RunOptions,
  RunOutcome,
  Workspace,
  WorkspaceFactory,
  WriteOptions,
} from "./workspace.ts";
