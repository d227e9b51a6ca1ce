/**
 * What servers ask of a client in the middle of a call: forms for a person, and, where they were switched on, answers of a
 * model and the roots of a project. Servers of the older revisions send requests, those of the newer answer with them.
 */

import { pathToFileURL } from "node:url";
import type { Json } from "@capstan/core";
import type { Client } from "@modelcontextprotocol/client";

/** A question to a person. `schema` is JSON Schema of one flat object; `url` a page to open instead. */
export type Elicitation = {
  readonly message: string;
  readonly schema?: Json;
  readonly url?: string;
  /** It wants something opened that is no page: nobody is asked. */
  readonly unusable?: boolean;
};
export type ElicitationAnswer = {
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: { readonly [name: string]: Json };
};

export type Answering = {
  /** Asks in the session of the call that is under way. */
  elicit(server: string, question: Elicitation): Promise<ElicitationAnswer>;
  /** Folders that a server is told of. Absent: servers are told that there are none to ask for. */
  readonly roots?: readonly string[];
  /** Answers a server's request to a model. Absent: servers are told that there is no model to ask. */
  readonly sampling?: Sampling;
};
/** Gets `sampling/createMessage` parameters, gives its result, both as the specification has them. */
export type Sampling = (
  request: Json,
  context: { readonly server: string; readonly signal: AbortSignal },
) => Promise<Json>;

/** Registers answers for servers of the older revisions; before `connect`. */
export function answerRequests(client: Client, server: string, answering: Answering): void {
  client.setRequestHandler("elicitation/create", async (request) => {
    const answer = await answering.elicit(server, elicitationOf(request.params as unknown as Json));
    return {
      action: answer.action,
      ...(answer.content !== undefined && { content: answer.content as { [name: string]: string } }),
    };
  });
  const { roots, sampling } = answering;
  if (roots !== undefined) client.setRequestHandler("roots/list", () => ({ roots: rootsOf(roots) }));
  if (sampling !== undefined) {
    client.setRequestHandler("sampling/createMessage", async (request, context) => {
      const result = await sampling(request.params as unknown as Json, { server, signal: context.mcpReq.signal });
      return result as never; // the SDK checks it against its schema
    });
  }
}

/** Answers one request that came inside a result. Throws for what was not switched on. */
export async function answerEmbedded(
  request: { readonly method: string; readonly params: Json },
  server: string,
  answering: Omit<Answering, "elicit">,
  signal: AbortSignal,
): Promise<Json> {
  if (request.method === "roots/list" && answering.roots !== undefined) return { roots: rootsOf(answering.roots) };
  if (request.method === "sampling/createMessage" && answering.sampling !== undefined) {
    return answering.sampling(request.params, { server, signal });
  }
  throw new Error(`it asked for ${request.method}, which is not switched on`);
}

/** Reads the parameters of `elicitation/create`; what is not as it should be asks for nothing but a yes, and a page that is none for nothing at all. */
export function elicitationOf(params: Json): Elicitation {
  const members =
    typeof params === "object" && params !== null && !Array.isArray(params)
      ? (params as { readonly [name: string]: Json })
      : {};
  const { message, requestedSchema: schema, url, mode } = members;
  const page = pageOf(url);
  return {
    message: typeof message === "string" ? message : "",
    ...(typeof schema === "object" && schema !== null && { schema }),
    ...(page !== undefined && { url: page }),
    ...(page === undefined && (mode === "url" || url !== undefined) && { unusable: true }),
  };
}

const MAX_URL = 8_192;

/** A page that a browser may be sent to, as it is written when it was read. */
export function pageOf(url: unknown): string | undefined {
  if (typeof url !== "string" || url.length > MAX_URL || !URL.canParse(url)) return undefined;
  const { protocol, href } = new URL(url);
  return protocol === "https:" || protocol === "http:" ? href : undefined;
}

function rootsOf(roots: readonly string[]): { uri: string }[] {
  return roots.map((path) => ({ uri: pathToFileURL(path).href }));
}
