/** What the model is asked: the stored prefix, the conversation, the settings, and what `prepare` hooks add. */

import { cachePlan } from "./cache-plan.ts";
import type { Hold } from "./hold.ts";
import { runPrepareHooks } from "./hooks.ts";
import type { Message, Part } from "./message.ts";
import type { Model, ModelRequest, ModelSettings } from "./model.ts";
import { outputSettings } from "./output.ts";
import { changedPrefix, prefixOfTurn } from "./prefix.ts";

type Built = { readonly request: ModelRequest; readonly prefixHash: string };

export async function buildRequest(hold: Hold, turn: number, model: Model): Promise<Built> {
  const stored = await prefixOfTurn(hold);
  const { agent, state, journal } = hold;
  const { messages } = await hold.conversation();
  const settings: ModelSettings = {
    ...agent.settings,
    ...(state.run?.overrides?.settings as ModelSettings | undefined), // parsed when the input was accepted
    ...(await outputSettings(hold, model, stored.tools)),
  };
  const base: ModelRequest = {
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
  const changes = await runPrepareHooks(hold, turn, base);
  if (changes.length === 0) return { request: base, prefixHash: stored.hash };
  const { redactor } = hold.definitions; // what a hook adds has not been through the log
  const tail: Part[] = changes.flatMap((change) => change.tail ?? []).map((part) => redactor.json(part));
  const causes = changes.flatMap((change) => change.breaksPrefix ?? []);
  const system = changes.flatMap((change) => redactor.text(change.system ?? "") || []);
  const tools = changes.flatMap((change) => change.tools ?? []);
  const prefix = causes.length === 0 ? stored : await changedPrefix(hold, { system, tools, cause: causes.join("; ") });
  const shown: readonly Message[] =
    tail.length === 0 ? messages : [...messages, { id: `${state.run?.id}/tail/${turn}`, role: "user", parts: tail }];
  const merged = Object.assign({}, settings, ...changes.map((change) => change.settings ?? {})) as ModelSettings; // later plugins win
  return {
    request: { ...base, system: prefix.system, tools: prefix.tools, messages: shown, settings: merged },
    prefixHash: prefix.hash,
  };
}
