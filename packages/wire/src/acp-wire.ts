/** What travels in ACP v1 (agentclientprotocol.com, schema v1): content, tool calls and session updates, as plain types. */

export type AcpContentBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly data: string; readonly mimeType: string; readonly uri?: string | null }
  | { readonly type: "audio"; readonly data: string; readonly mimeType: string }
  | {
      readonly type: "resource_link";
      readonly uri: string;
      readonly name: string;
      readonly title?: string | null;
      readonly description?: string | null;
      readonly mimeType?: string | null;
      readonly size?: number | null;
    }
  | { readonly type: "resource"; readonly resource: AcpResource };
export type AcpResource =
  | { readonly uri: string; readonly text: string; readonly mimeType?: string | null }
  | { readonly uri: string; readonly blob: string; readonly mimeType?: string | null };

export type AcpToolKind =
  | "read"
  | "edit"
  | "delete"
  | "move"
  | "search"
  | "execute"
  | "think"
  | "fetch"
  | "switch_mode"
  | "other";
export type AcpToolStatus = "pending" | "in_progress" | "completed" | "failed";
export type AcpToolContent =
  | { readonly type: "content"; readonly content: AcpContentBlock }
  | { readonly type: "diff"; readonly path: string; readonly oldText?: string | null; readonly newText: string }
  | { readonly type: "terminal"; readonly terminalId: string };
/** Absolute path; `line` counts from 1. */
export type AcpLocation = { readonly path: string; readonly line?: number | null };
export type AcpToolCall = {
  readonly toolCallId: string;
  readonly title: string;
  readonly name?: string | null;
  readonly kind?: AcpToolKind;
  readonly status?: AcpToolStatus;
  readonly content?: readonly AcpToolContent[];
  readonly locations?: readonly AcpLocation[];
  readonly rawInput?: unknown;
  readonly rawOutput?: unknown;
};
/** Lists replace what was there; what is left out or null stays as it was. */
export type AcpToolCallUpdate = {
  readonly toolCallId: string;
  readonly title?: string | null;
  readonly name?: string | null;
  readonly kind?: AcpToolKind | null;
  readonly status?: AcpToolStatus | null;
  readonly content?: readonly AcpToolContent[] | null;
  readonly locations?: readonly AcpLocation[] | null;
  readonly rawInput?: unknown;
  readonly rawOutput?: unknown;
};

export type AcpPlanEntry = {
  readonly content: string;
  readonly priority: "high" | "medium" | "low";
  readonly status: "pending" | "in_progress" | "completed";
};
export type AcpCommand = {
  readonly name: string;
  readonly description: string;
  readonly input?: { readonly hint: string } | null;
};
export type AcpSelectOption = { readonly value: string; readonly name: string; readonly description?: string | null };
export type AcpConfigOption = {
  readonly id: string;
  readonly name: string;
  readonly category?: string | null;
  readonly type: "select";
  readonly currentValue: string;
  readonly options: readonly AcpSelectOption[];
};
type Chunk = { readonly content: AcpContentBlock; readonly messageId?: string | null };

export type AcpSessionUpdate =
  | ({ readonly sessionUpdate: "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk" } & Chunk)
  | ({ readonly sessionUpdate: "tool_call" } & AcpToolCall)
  | ({ readonly sessionUpdate: "tool_call_update" } & AcpToolCallUpdate)
  | { readonly sessionUpdate: "plan"; readonly entries: readonly AcpPlanEntry[] }
  | { readonly sessionUpdate: "available_commands_update"; readonly availableCommands: readonly AcpCommand[] }
  | { readonly sessionUpdate: "current_mode_update"; readonly currentModeId: string }
  | { readonly sessionUpdate: "config_option_update"; readonly configOptions: readonly AcpConfigOption[] }
  | {
      readonly sessionUpdate: "session_info_update";
      readonly title?: string | null;
      /** ISO 8601. */
      readonly updatedAt?: string | null;
    }
  | {
      readonly sessionUpdate: "usage_update";
      readonly used: number;
      readonly size: number;
      readonly cost?: { readonly amount: number; readonly currency: string } | null;
    }
  | {
      readonly sessionUpdate: "notice";
      readonly severity: string;
      readonly title: string;
      readonly description?: string | null;
    }
  | {
      readonly sessionUpdate: "compaction_update";
      readonly compactionId: string;
      readonly status: string;
      readonly summary?: readonly AcpContentBlock[] | null;
      readonly error?: string | null;
    };

export type AcpStopReason = "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled";
export type AcpPermissionOption = {
  readonly optionId: string;
  readonly name: string;
  readonly kind: "allow_once" | "allow_always" | "reject_once" | "reject_always";
};
