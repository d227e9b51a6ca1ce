/** What the model is asked: the stored prefix, the conversation, the settings, and what `prepare` hooks add. */

import type { Hold } from "../hold/hold.ts";
import { runPrepareHooks } from "../hooks/hooks.ts";
import { cachePlan } from "../model/cache-plan.ts";
import { outputSettings } from "../model/output.ts";
import { changedPrefix, prefixOfTurn, storedPrefix } from "../model/prefix.ts";
import type { Model, ModelRequest, ModelSettings } from "../ports/model.ts";
import type { Message, Part } from "../words/message.ts";

type Built = { readonly request: ModelRequest; readonly prefixHash: string };

/** What a turn asks as the conversation is now, before any hook. */
export async function requestOfConversation(hold: Hold, model: Model): Promise<Built> {
  const stored = await prefixOfTurn(hold);
  const { agent, state, journal } = hold;
  const { messages } = await hold.conversation();
  const settings: ModelSettings = {
    ...agent.settings,
    ...(hold.run.overrides?.settings as ModelSettings | undefined), // parsed when the input was accepted
    ...(await outputSettings(hold, model, stored.tools)),
  };
  const request: ModelRequest = {
    system: stored.system,
    tools: stored.tools,
    messages,
    settings,
    cache:
      model.capabilities.cacheMarkers === true
        ? cachePlan(messages, messages.findLastIndex(({ role }) => role === "assistant") - 1)
        : [],
    sessionId: state.sessionId,
    signal: journal.signal,
    blob: (hash) => journal.blob(hash),
  };
  return { request, prefixHash: stored.hash };
}

export async function buildRequest(hold: Hold, turn: number, model: Model): Promise<Built> {
  const { state } = hold;
  let built = await requestOfConversation(hold, model);
  const changes = await runPrepareHooks(hold, turn, built.request);
  if (hold.state.compactedThrough !== state.compactedThrough) built = await requestOfConversation(hold, model);
  if (changes.length === 0) return built;
  const { messages, settings } = built.request;
  const { redactor } = hold.definitions; // what a hook adds has not been through the log
  const tail: Part[] = changes.flatMap((change) => change.tail ?? []).map((part) => redactor.json(part));
  const causes = changes.flatMap((change) => change.breaksPrefix ?? []);
  const system = changes.flatMap((change) => redactor.text(change.system ?? "") || []);
  const tools = changes.flatMap((change) => change.tools ?? []);
  const prefix =
    causes.length === 0
      ? await storedPrefix(hold)
      : await changedPrefix(hold, { system, tools, cause: causes.join("; ") });
  const shown: readonly Message[] =
    tail.length === 0 ? messages : [...messages, { id: `${hold.run.id}/tail/${turn}`, role: "user", parts: tail }];
  const merged = Object.assign({}, settings, ...changes.map((change) => change.settings ?? {})) as ModelSettings; // later plugins win
  return {
    request: { ...built.request, system: prefix.system, tools: prefix.tools, messages: shown, settings: merged },
    prefixHash: prefix.hash,
  };
}
