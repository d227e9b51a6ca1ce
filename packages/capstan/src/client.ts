/** capstan/client: a runtime that is elsewhere, and the transport of a chat. */

export { chatTransport, remoteRuntime } from "@capstan/server/client";
export type { ChatTransport, ChatTransportOptions, RemoteOptions } from "@capstan/server/client";
