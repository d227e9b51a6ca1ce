/** The ACP agent: editors drive the sessions of a runtime over two byte streams. Protocol version 1, stable methods only. */

import {
  agent as acpAgent,
  type AgentApp,
  type InitializeRequest,
  type InitializeResponse,
  methods,
} from "@agentclientprotocol/sdk";
import { sleep, systemClock } from "@capstan/core";
import { ACP_LIMITS as LIMITS } from "../limits.ts";
import { messageStream } from "../message-stream.ts";
import { OpenSessions } from "./open-sessions.ts";
import { rpcError } from "./rpc-errors.ts";
import type { ServeAcpOptions } from "./serve-options.ts";

export interface AcpDoor extends AsyncDisposable {
  /** Resolves when the client is gone and nothing is shown any more. Never rejects. */
  readonly closed: Promise<void>;
  /** Runs go on: a door that closes cancels nothing. */
  close(): Promise<void>;
}

const AGENT_INFO = { name: "capstan", title: "Capstan", version: "0.1.0" };

/** Answers until the input ends. */
export function serveAcp(options: ServeAcpOptions): AcpDoor {
  const { actor, input = process.stdin, output = process.stdout, log = logToStderr } = options;
  const runtime = actor === undefined ? options.runtime : options.runtime.as(actor);
  const sessions = new OpenSessions({ ...options, runtime, log });
  const stream = messageStream(input, output);
  const connection = appOf(sessions).connect(stream);
  sessions.connected(connection.client, connection.signal);
  const closed = connection.closed
    .catch(() => undefined)
    .then(async () => {
      await sessions.close();
      await Promise.race([stream.flushed(), sleep(systemClock, LIMITS.flushMs)]);
      input.destroy();
    })
    .catch((error: unknown) => log(rpcError(error).message));
  const close = (): Promise<void> => {
    connection.close();
    return closed;
  };
  return { closed, close, [Symbol.asyncDispose]: close };
}

/** Every method of an agent that this one has. Others are answered as unknown by the SDK. */
function appOf(sessions: OpenSessions): AgentApp {
  const { agent } = methods;
  const app = acpAgent({ name: AGENT_INFO.name });
  app.onRequest(agent.initialize, ({ params }) => initialized(sessions, params));
  app.onRequest(agent.session.new, ({ params }) => answered(() => sessions.begin(params)));
  app.onRequest(agent.session.load, ({ params }) => answered(() => sessions.load(params), params.sessionId));
  app.onRequest(agent.session.resume, ({ params }) => answered(() => sessions.resume(params), params.sessionId));
  app.onRequest(agent.session.list, ({ params }) => answered(() => sessions.list(params)));
  app.onRequest(agent.session.close, ({ params }) => answered(() => sessions.end(params.sessionId), params.sessionId));
  app.onRequest(agent.session.delete, ({ params }) =>
    answered(() => sessions.remove(params.sessionId), params.sessionId),
  );
  app.onRequest(agent.session.setMode, ({ params }) => answered(() => sessions.setMode(params), params.sessionId));
  app.onRequest(agent.session.setConfigOption, ({ params }) =>
    answered(() => sessions.setOption(params), params.sessionId),
  );
  app.onRequest(agent.session.prompt, ({ params, signal }) =>
    answered(() => sessions.prompt(params, signal), params.sessionId),
  );
  app.onNotification(agent.session.cancel, ({ params }) => sessions.cancel(params.sessionId));
  return app;
}

function initialized(sessions: OpenSessions, { clientCapabilities }: InitializeRequest): InitializeResponse {
  const { session, elicitation } = clientCapabilities ?? {};
  sessions.shows = {
    notices: (session?.notices ?? undefined) !== undefined,
    compaction: (session?.compaction ?? undefined) !== undefined,
    elicitation: {
      form: (elicitation?.form ?? undefined) !== undefined,
      url: (elicitation?.url ?? undefined) !== undefined,
    },
  };
  const remote = sessions.connectsMcp;
  return {
    protocolVersion: 1, // whatever was asked for: a client that cannot speak it closes
    agentInfo: AGENT_INFO,
    authMethods: [],
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, audio: false, embeddedContext: true },
      mcpCapabilities: { http: remote, sse: remote },
      sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
    },
  };
}

async function answered<T>(work: () => Promise<T>, sessionId?: string): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw rpcError(error, sessionId);
  }
}

function logToStderr(line: string): void {
  process.stderr.write(`${line}\n`);
}
