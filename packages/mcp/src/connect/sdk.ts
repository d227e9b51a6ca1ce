/** The MCP SDK, loaded when the first server is connected: it is a third of a second that most programs never need. */

import type * as client from "@modelcontextprotocol/client";
import type * as server from "@modelcontextprotocol/server";
import type * as serverStdio from "@modelcontextprotocol/server/stdio";

export const clientSdk = (): Promise<typeof client> => import("@modelcontextprotocol/client");
export const serverSdk = (): Promise<typeof server> => import("@modelcontextprotocol/server");
export const serverStdioSdk = (): Promise<typeof serverStdio> => import("@modelcontextprotocol/server/stdio");
