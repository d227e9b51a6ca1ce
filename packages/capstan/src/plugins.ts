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
export {
  checkpoints,
  type Checkpoints,
  type LeftFile,
  type LeftReason,
  planRewind,
  type PlanOptions,
  type Restored,
  restoreFiles,
  type RestoreOptions,
  type RewindFile,
  type RewindPlan,
} from "@capstan/plugins/checkpoints";
export { compaction, type CompactionOptions } from "@capstan/plugins/compaction";
export { CONTEXT_EDITING_BETA, contextEditing, type ContextEditingOptions } from "@capstan/plugins/context-editing";
export {
  contextUsage,
  watchContext,
  type ContextUsage,
  type Counted,
  type SeenContext,
} from "@capstan/plugins/context-usage";
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
export { tokenLimit, type TokenLimitOptions } from "@capstan/plugins/token-limit";
export { trimResults, type TrimResultsOptions } from "@capstan/plugins/trim-results";
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
export {
  commands,
  expandTemplate,
  loadCommands,
  type Command,
  type CommandCall,
  type CommandDiagnostic,
  type CommandFolder,
  type CommandResult,
  type CommandSet,
  type CommandsOptions,
  type CommandSource,
  type InlineCommand,
  type LoadCommandsOptions,
} from "@capstan/plugins/commands";
export {
  loadPackage,
  loadTools,
  lookAtPackage,
  packageFolder,
  type LoadedPackage,
  type LoadedTools,
  type PackageManifest,
  type SeenPackage,
  type ToolDiagnostic,
} from "@capstan/plugins/packages";
export { composePresets, preset, withPresets, type Preset, type PresetDefinition } from "@capstan/plugins/presets";
export { rules, type RulesFolder } from "@capstan/plugins/rules";
export {
  diskFolder,
  loadSkills,
  matchWords,
  parseSkill,
  skills,
  skillsOf,
  type ActivationVia,
  type ActiveSkill,
  type DeactivationReason,
  type DefinitionFolder,
  type DiskFolderOptions,
  type InlineSkill,
  type LoadSkillsOptions,
  type ParsedSkill,
  type SessionSkills,
  type Skill,
  type SkillDiagnostic,
  type SkillDiagnosticCode,
  type SkillFolder,
  type SkillHooks,
  type SkillInput,
  type SkillMatcher,
  type SkillSet,
  type SkillsOptions,
  type SkillSource,
  type SkillText,
} from "@capstan/plugins/skills";
export { auditLog, verifyAuditLog } from "@capstan/plugins/audit-log";
export type {
  AuditKey,
  AuditLogOptions,
  AuditProblem,
  AuditRecord,
  AuditReport,
  VerifyOptions,
} from "@capstan/plugins/audit-log";
export { debugFiles, type DebugFilesOptions } from "@capstan/plugins/debug-files";
export {
  findInjections,
  INJECTION_CODES,
  INJECTION_LABEL,
  injectionGuard,
  type Injection,
  type InjectionCode,
  type InjectionGuardOptions,
} from "@capstan/plugins/injection-guard";
export { metrics, type MetricsOptions, type OtelHistogram, type OtelMeter } from "@capstan/plugins/metrics";
export {
  findPii,
  maskPii,
  pii,
  PII_KINDS,
  PII_LABEL,
  type Pii,
  type PiiKind,
  type PiiOptions,
  type PiiPattern,
} from "@capstan/plugins/pii";
export { taint, type TaintPolicy } from "@capstan/plugins/taint";
export { toolUsage, type ToolUsage, type ToolUse } from "@capstan/plugins/tool-usage";
export { traceHtml, traceOf, type Trace, type TraceSpan } from "@capstan/plugins/trace-report";
export { tracing, type OtelApi, type OtelProvider, type TracingOptions } from "@capstan/plugins/tracing";
