/** capstan/http: sessions, runs and `useChat` over HTTP. */

export { httpHandler, nodeListener, uiResponse } from "@capstan/server/http";
export type { Authorize, Caller, HttpHandle, HttpOptions, NodeListener } from "@capstan/server/http";
