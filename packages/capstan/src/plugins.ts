/** capstan/plugins: behaviour to add to agents. */

export { reasoningDecay, type ReasoningLevel, type ReasoningSteps } from "@capstan/plugins/reasoning-decay";
export {
  allOf,
  stopWhen,
  toolCalled,
  turnsReached,
  type RunSoFar,
  type StopCondition,
} from "@capstan/plugins/stop-when";
export {
  approvalQueue,
  approvals,
  type Approval,
  type ApprovalScope,
  type ApprovalsOptions,
  type ApprovalStore,
} from "@capstan/plugins/approvals";
export { cacheWarming, type CacheWarmingOptions } from "@capstan/plugins/cache-warming";
export { dedup, type CallKey, type DedupOptions, type DedupTool } from "@capstan/plugins/dedup";
export { loopGuard, type LoopGuardOptions } from "@capstan/plugins/loop-guard";
export { omissionGuard } from "@capstan/plugins/omission-guard";
export { outputLimit, type OutputLimitOptions } from "@capstan/plugins/output-limit";
export { readBeforeEdit } from "@capstan/plugins/read-before-edit";
export { repeatRead } from "@capstan/plugins/repeat-read";
export { staleReads, type StaleReadsOptions } from "@capstan/plugins/stale-reads";
export {
  toolBudget,
  type BudgetUse,
  type BudgetVerdict,
  type CallBudget,
  type ToolBudgetOptions,
} from "@capstan/plugins/tool-budget";
export { aliases } from "@capstan/plugins/aliases";
export { coerceArguments, type CoerceOptions, type Coercion } from "@capstan/plugins/coerce";
export { mentions } from "@capstan/plugins/mentions";
export { nameConversation, namer, type ConversationName, type NamerOptions } from "@capstan/plugins/namer";
export { rewriteErrors, type RewriteOptions, type SeenCall } from "@capstan/plugins/rewrite-errors";
export {
  HOOK_EVENTS,
  settingsHooks,
  toHookEvent,
  type HookEvent,
  type SettingsHooksOptions,
} from "@capstan/plugins/settings-hooks";
export { taskList, todoList } from "@capstan/plugins/todo";
export { nearestNames, unknownTool, type UnknownToolAnswer } from "@capstan/plugins/unknown-tool";
