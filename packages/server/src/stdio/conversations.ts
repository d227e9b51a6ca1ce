/** Conversations of a stdio door: which one is meant, and what is shown of one. */

import { CapstanError, type Runtime, type Session, type SessionSummary, type WorkspaceRef } from "@capstan/core";

export type Conversation = {
  readonly conversation_id: string;
  readonly agent: string;
  readonly [field: string]: unknown;
};
export type NewConversation = { readonly agent?: string; readonly title?: string; readonly workspace?: string };
export type ConversationOptions = {
  readonly runtime: Runtime;
  /** Of conversations for which none is named. */
  readonly agent: string;
  readonly workspace?: string | WorkspaceRef;
};

const TITLE_CHARS = 60;

export class Conversations {
  /** The one that requests mean which name none. */
  current: Session | undefined;
  readonly #options: ConversationOptions;

  constructor(options: ConversationOptions) {
    this.#options = options;
  }

  /** Throws `session-not-found`, or `input-invalid` when there is no current one. */
  async of(id: string | undefined): Promise<Session> {
    if (id !== undefined) return this.#options.runtime.session(id);
    if (this.current !== undefined) return this.current;
    throw new CapstanError("input-invalid", "There is no current conversation; name one with conversation_id");
  }

  async open({ agent, title, workspace }: NewConversation): Promise<Session> {
    const root = workspace ?? this.#options.workspace;
    this.current = await this.#options.runtime.session({
      agent: agent ?? this.#options.agent,
      ...(title !== undefined && { title }),
      ...(root !== undefined && { workspace: root }),
    });
    return this.current;
  }

  /** The one that is named, the current one, or a new one that is called as it begins. */
  async forMessage(id: string | undefined, agent: string | undefined, message: string): Promise<Session> {
    if (id === undefined && this.current === undefined) {
      const title = message.replaceAll(/\s+/g, " ").trim().slice(0, TITLE_CHARS).toWellFormed();
      return this.open({ ...(title !== "" && { title }), ...(agent !== undefined && { agent }) });
    }
    this.current = await this.of(id);
    return this.current;
  }

  async remove(id: string): Promise<void> {
    await (await this.#options.runtime.session(id)).remove();
    if (this.current?.id === id) this.current = undefined;
  }
}

export function shownSession({ id, agent, key }: Session): Conversation {
  return { conversation_id: id, agent, ...(key !== undefined && { key }) };
}

export function shownSummary(summary: SessionSummary): Conversation {
  const { sessionId, agent, key, title, status, openRequests, usage, createdAt, updatedAt } = summary;
  return {
    conversation_id: sessionId,
    agent,
    ...(key !== undefined && { key }),
    ...(title !== undefined && { title }),
    status,
    open_requests: openRequests.length,
    usage,
    created_at: createdAt,
    updated_at: updatedAt,
  };
}
