/** Moments at which a command of the settings may run, and the names that other programs' settings have for them. */

/** Moments that this plugin has. The names are those of Claude Code's settings files. */
export const HOOK_EVENTS = [
  "PreToolUse",
  "PostToolUse",
  "PostToolUseFailure",
  "PermissionRequest",
  "PermissionDenied",
  "UserPromptSubmit",
  "PostAssistantResponse",
  "Stop",
  "StopFailure",
  "SubagentStart",
  "SubagentStop",
  "SessionStart",
  "SessionEnd",
  "Notification",
  "PostCompact",
  "TaskCreated",
  "TaskCompleted",
] as const;
export type HookEvent = (typeof HOOK_EVENTS)[number];

/** Moments that settings files know and that do not come here: their commands never run. */
const ELSEWHERE = [
  "PostToolBatch",
  "UserPromptExpansion",
  "Setup",
  "PreCompact",
  "PreModelSwitch",
  "PostModelSwitch",
  "MessageDisplay",
  "Elicitation",
  "ElicitationResult",
  "TeammateIdle",
  "ConfigChange",
  "InstructionsLoaded",
  "CwdChanged",
  "DirectoryAdded",
  "FileChanged",
  "WorktreeCreate",
  "WorktreeRemove",
];

/** Names of the same moments in other systems, without case and punctuation. */
const ALIASES: { readonly [name: string]: HookEvent } = {
  toolgate: "PreToolUse",
  toolbefore: "PreToolUse",
  beforetool: "PreToolUse",
  toolafter: "PostToolUse",
  tooltransform: "PostToolUse",
  aftertool: "PostToolUse",
  toolerror: "PostToolUseFailure",
  beforeagent: "UserPromptSubmit",
  aftermodel: "PostAssistantResponse",
  afteragent: "Stop",
  spawnbefore: "SubagentStart",
  spawnafter: "SubagentStop",
  sessionstop: "SessionEnd",
};

const NAMES: ReadonlyMap<string, HookEvent | undefined> = new Map([
  ...ELSEWHERE.map((name) => [plain(name), undefined] as const),
  ...Object.entries(ALIASES),
  ...HOOK_EVENTS.map((name) => [plain(name), name] as const),
]);

/** The moment that a name stands for: `"none"` when it does not come here, nothing when nobody knows the name. */
export function toHookEvent(name: string): HookEvent | "none" | undefined {
  const key = plain(name);
  return NAMES.has(key) ? (NAMES.get(key) ?? "none") : undefined;
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]/g, "");
}
