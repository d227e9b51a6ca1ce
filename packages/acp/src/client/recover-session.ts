/** Taking a session up again: resumed when the history is here, loaded when it is not, and a new one at last. */

import type { McpServer } from "@agentclientprotocol/sdk";
import { messageOf } from "@capstan/core";
import type { UiMessage } from "@capstan/wire/acp";
import type { AgentLink } from "./agent-link.ts";
import { ReplayedMessages } from "./replayed-messages.ts";

export type RecoverOptions = {
  readonly link: AgentLink;
  readonly cwd: string;
  readonly mcpServers: readonly McpServer[];
  /** Of the session that there was. */
  readonly sessionId: string | undefined;
  /** Whether its messages are known here. */
  readonly hasHistory: boolean;
  readonly newId: () => string;
  /** Called with where updates are to go while a session is loaded, and with `undefined` behind it. */
  readonly replaying: (replay: ReplayedMessages | undefined) => void;
};
export type Recovered = {
  readonly sessionId: string;
  readonly by: "resume" | "load" | "new";
  /** What was tried before. */
  readonly failed: readonly { readonly by: "resume" | "load"; readonly message: string }[];
  /** What the agent showed of the past. */
  readonly messages?: readonly UiMessage[];
};

/** Throws when the agent is lost, or begins no new session either. */
export async function recoverSession(options: RecoverOptions): Promise<Recovered> {
  const { link, cwd, mcpServers, sessionId } = options;
  const failed: { by: "resume" | "load"; message: string }[] = [];
  for (const by of sessionId === undefined ? [] : waysOf(options)) {
    try {
      if (by === "load")
        return { sessionId: sessionId ?? "", by, failed, messages: await loaded(options, sessionId ?? "") };
      await link.resumeSession(sessionId ?? "", cwd, mcpServers);
      return { sessionId: sessionId ?? "", by, failed };
    } catch (error) {
      if (link.isLost) throw error;
      failed.push({ by, message: messageOf(error) });
    }
  }
  return { sessionId: await link.newSession(cwd, mcpServers), by: "new", failed };
}

/** An agent that resumes shows nothing of the past: one that can load is asked for it when nobody here knows it. */
function waysOf({ link, hasHistory }: RecoverOptions): readonly ("resume" | "load")[] {
  const { loadSession, sessionCapabilities } = link.capabilities;
  const canLoad = loadSession === true;
  const canResume = (sessionCapabilities?.resume ?? undefined) !== undefined;
  const resumes = canResume && (hasHistory || !canLoad);
  return [...(resumes ? (["resume"] as const) : []), ...(canLoad ? (["load"] as const) : [])];
}

async function loaded(options: RecoverOptions, sessionId: string): Promise<readonly UiMessage[]> {
  const { link, cwd, mcpServers, newId, replaying } = options;
  const replay = new ReplayedMessages(newId);
  replaying(replay);
  try {
    await link.loadSession(sessionId, cwd, mcpServers);
    return replay.end();
  } finally {
    replaying(undefined);
  }
}
