/** Names a conversation after its first turn with a model of its own, while nobody waits for it. */

import {
  conversation,
  CONVERSATION_FACTS,
  type Definitions,
  type Envelope,
  type Message,
  type Metadata,
  type Model,
  type Plugin,
  plugin,
} from "@capstan/core";
import { Background } from "../background.ts";
import { askName } from "./name-conversation.ts";

export { nameConversation, type ConversationName } from "./name-conversation.ts";

export type NamerOptions = {
  /** A cheap one is enough. */
  readonly model: Model | string;
};

const ASK_MS = 30_000;
const ACTOR = { id: "namer", door: "plugin" };

/**
 * A session that has a title, or `metadata: { naming: false }`, is left alone, and so are those of sub-agents. What failed,
 * or was cut short by the end of the process, is tried again after the session's next run.
 */
export function namer({ model }: NamerOptions): Plugin {
  const open = new Map<Definitions, Background>();
  return plugin({
    name: "namer",
    on(envelope) {
      const { event } = envelope;
      if (event.type !== "run.finished" || event.reason !== "end-turn" || envelope.parent !== undefined) return;
      for (const [runtime, background] of open)
        background.start(() => nameSession(runtime, background, envelope, model));
    },
    open(runtime) {
      const background = new Background();
      open.set(runtime, background);
      return {
        async [Symbol.asyncDispose]() {
          open.delete(runtime);
          await background.close();
        },
      };
    },
  });
}

async function nameSession(
  runtime: Definitions,
  background: Background,
  { sessionId, agent }: Envelope,
  given: Model | string,
): Promise<void> {
  const { engine } = runtime;
  const isUnnamed = async (): Promise<boolean> => {
    const summary = await engine.summary(sessionId);
    return summary !== undefined && summary.title === undefined;
  };
  if (!(await isUnnamed())) return;
  const { messages, metadata } = await readSession(runtime, sessionId);
  if (metadata["naming"] === false) return;
  const model = typeof given === "string" ? await runtime.model(runtime.agent(agent), given) : given;
  const signal = AbortSignal.any([background.signal, AbortSignal.timeout(ASK_MS)]);
  const { title, usage } = await askName(model, messages, { sessionId, signal });
  const named = title !== "" && (await isUnnamed()); // a person may have been faster; what was spent is recorded all the same
  await engine.submit(
    { type: "update", sessionId, usage, ...(named && { title }) },
    { idempotencyKey: `namer/${messages.at(-1)?.id}`, actor: ACTOR },
  );
}

async function readSession(
  { engine }: Definitions,
  sessionId: string,
): Promise<{ readonly messages: readonly Message[]; readonly metadata: Metadata }> {
  const folded = conversation();
  let metadata: Metadata = {};
  for await (const fact of engine.read(sessionId, {
    types: [...CONVERSATION_FACTS, "session.created", "session.updated"],
  })) {
    folded.apply(fact);
    if (fact.type === "session.created" || fact.type === "session.updated")
      metadata = { ...metadata, ...fact.metadata };
  }
  return { messages: folded.messages, metadata };
}
