/** @capstan/wire/acp: ACP v1 as pure functions, for the agent that editors drive and for the client of other agents. */

export { acpBlocksOf, acpContentOf, partsOfAcpPrompt } from "./acp-blocks.ts";
export { acpChunks, type AcpChunks, textOfContent } from "./acp-chunks.ts";
export { ACP_WIRE_LIMITS } from "./acp-limits.ts";
export { parseAcpConfigOption, parseAcpContent, parseAcpToolCall, parseAcpUpdate } from "./acp-parse-update.ts";
export { askInAcp } from "./acp-requests.ts";
export type { AcpAsked, AcpChoice, AcpChoices, AcpElicitation, AcpElicitationModes } from "./acp-requests.ts";
export { applyUiChunk } from "./acp-ui-fold.ts";
export { acpPromptOf, uiPartOf } from "./acp-ui-message.ts";
export type {
  AcpPromptCapabilities,
  UiApproval,
  UiDataPart,
  UiFilePart,
  UiMessage,
  UiPart,
  UiSourcePart,
  UiTextPart,
  UiToolPart,
} from "./acp-ui-message.ts";
export type { UiChunk } from "./ui-chunk.ts";
export { acpToolKind, acpUpdates, type AcpUpdates, type AcpUpdatesOptions } from "./acp-updates.ts";
export type {
  AcpCommand,
  AcpConfigOption,
  AcpContentBlock,
  AcpLocation,
  AcpPermissionOption,
  AcpPlanEntry,
  AcpResource,
  AcpSelectOption,
  AcpSessionUpdate,
  AcpStopReason,
  AcpToolCall,
  AcpToolCallUpdate,
  AcpToolContent,
  AcpToolKind,
  AcpToolStatus,
} from "./acp-wire.ts";
