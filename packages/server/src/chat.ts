/** The chat transport alone, for browsers: nothing of it needs Node. */

export { chatTransport, type ChatTransport, type ChatTransportOptions } from "./chat-transport.ts";
