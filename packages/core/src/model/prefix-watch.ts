/** Watches that each request of a hold goes on from the one before it: what breaks the provider's cached prefix is told, with its cause. */

import type { Hold } from "../hold/hold.ts";
import type { ModelRequest } from "../ports/model.ts";
import type { ModelNext } from "../ports/plugin.ts";
import type { Message } from "../words/message.ts";

type Sent = {
  readonly model: string;
  readonly prefixHash: string;
  readonly system: string;
  readonly tools: ModelRequest["tools"];
  /** Of these the first `count` were sent and may be asked for again. */
  readonly messages: readonly Message[];
  readonly count: number;
  readonly compactedThrough: number;
  /** Plugins whose `model` hook changed the request. */
  readonly changedBy: readonly string[];
};

const lastSent = new WeakMap<Hold, Sent>();
/** Requests that `model` hooks passed on changed, with the names of their plugins. */
const changers = new WeakMap<ModelRequest, readonly string[]>();

/** Remembers of a changed request whose hook it is. */
export function namingChanges(plugin: string, given: ModelRequest, next: ModelNext): ModelNext {
  return (passed) => {
    const before = changers.get(given) ?? [];
    const changed =
      passed.messages !== given.messages || passed.system !== given.system || passed.tools !== given.tools;
    if (changed || (passed !== given && before.length > 0))
      changers.set(passed, changed ? [...before, plugin] : before);
    return next(passed);
  };
}

/** Looks at a request on its way out. Costs nothing more than a look while the conversation only grows. */
export function watchPrefix(
  hold: Hold,
  request: ModelRequest,
  { model, prefixHash }: Pick<Sent, "model" | "prefixHash">,
): void {
  const { compactedThrough } = hold.state;
  const { system, tools, messages } = request;
  const count = messages.length - (isTail(messages.at(-1)) ? 1 : 0);
  const changedBy = changers.get(request) ?? [];
  const before = lastSent.get(hold);
  const sent: Sent = { model, prefixHash, system, tools, messages, count, compactedThrough, changedBy };
  lastSent.set(hold, sent);
  if (before === undefined || before.prefixHash !== prefixHash) return; // a new prefix was told when it was set
  if (before.model !== model) {
    hold.notice("info", "prefix-changed", `Another model caches for itself: ${before.model} gave way to ${model}`);
    return;
  }
  const segment = brokenSegment(before, sent);
  if (segment === undefined) return;
  const title = `The cached prompt prefix ends before ${segment}: ${causeOf(before, sent)}`;
  hold.notice("warning", "prefix-broken", title);
}

/** What `prepare` hooks add for one call only stands behind the last breakpoint: it is no part of the prefix. */
function isTail(message: Message | undefined): boolean {
  return message !== undefined && /\/tail\/\d+$/.test(message.id);
}

/** The first segment that is not what was sent before; providers read tools and system text before the messages. */
function brokenSegment(before: Sent, now: Sent): string | undefined {
  if (!isSame(before.tools, now.tools)) return "the tools";
  if (before.system !== now.system) return "the system text";
  if (before.compactedThrough !== now.compactedThrough) return "message 0";
  // the conversation's own list only grows between two compactions
  if (before.messages === now.messages && now.count >= before.count) return undefined;
  for (let index = 0; index < before.count; index++) {
    if (index >= now.count || !isSame(before.messages[index], now.messages[index])) return `message ${index}`;
  }
  return undefined;
}

function causeOf(before: Sent, now: Sent): string {
  if (before.compactedThrough !== now.compactedThrough) return "the conversation was compacted";
  const plugins = [...new Set([...before.changedBy, ...now.changedBy])];
  if (plugins.length > 0) return `the model hook of ${plugins.map((name) => `plugin ${name}`).join(", ")} changed it`;
  return "what was said before was changed";
}

/** Providers see bytes: an equal copy breaks nothing. */
function isSame(left: unknown, right: unknown): boolean {
  return left === right || JSON.stringify(left) === JSON.stringify(right);
}
