/** capstan/chat: the transport of `useChat` alone, for browsers. */

export { chatTransport, type ChatTransport, type ChatTransportOptions } from "@capstan/server/chat";
