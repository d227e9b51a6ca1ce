/** Pure projections of events into other protocols. */

export { anthropicStream, type AnthropicEvent, type AnthropicStream } from "./anthropic-stream.ts";
export { parseJson, parseObject, textMember, type Members } from "./json-text.ts";
export { lineSplitter, type Line, type LineSplitter } from "./line-splitter.ts";
export { screen, type Screen, type Shown, type ShownBlock } from "./screen.ts";
export { isShown } from "./shown-envelope.ts";
export { SSE_KEEP_ALIVE, sseFrame, type SseFrame } from "./sse-frame.ts";
export { stdioLines, type StdioLine, type StdioLines } from "./stdio-lines.ts";
export {
  parseStdioRequest,
  STDIO_KINDS,
  type ParsedRequest,
  type StdioId,
  type StdioRequest,
} from "./stdio-request.ts";
export { toolText, toolValue } from "./tool-text.ts";
export {
  UI_STREAM_END,
  UI_STREAM_HEADERS,
  uiFrame,
  type UiChunk,
  type UiFile,
  type UiFinishReason,
} from "./ui-chunk.ts";
export { parseUiPost, type UiAnswer, type UiPost, type UiSaid } from "./ui-post.ts";
export { saidOf, uiStream, type UiStream, type UiStreamOptions } from "./ui-stream.ts";
export { WIRE_LIMITS } from "./wire-limits.ts";
export { UI_MESSAGE_TAG, uiHistory, type UiHistory, type UiMessage, type UiPart } from "./ui-history.ts";
