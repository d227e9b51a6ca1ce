/** capstan/tools/a2a: agents elsewhere as tools, over the A2A protocol. */

export { remoteAgent, type RemoteAgentOptions } from "@capstan/tools/a2a";
