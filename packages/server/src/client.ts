/** The client of the HTTP door: a runtime that is elsewhere, and the transport of a chat. */

export { chatTransport, type ChatTransport, type ChatTransportOptions } from "./chat-transport.ts";
export { remoteRuntime, type RemoteOptions } from "./remote/remote-runtime.ts";
