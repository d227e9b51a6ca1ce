/** The HTTP door: sessions, runs and their events for programs, and the stream that `useChat` reads. */

export type { Authorize, Caller } from "./http/caller.ts";
export { httpHandler, type HttpHandle, type HttpOptions } from "./http/handler.ts";
export { nodeListener, type NodeListener } from "./http/node-listener.ts";
export { uiResponse } from "./http/ui-response.ts";
