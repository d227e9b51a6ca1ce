/** Keeps the prompt cache of a run that waits: what the model will be asked with is read again shortly before it is forgotten. */

import {
  CapstanError,
  type Definitions,
  type ModelRequest,
  type Plugin,
  plugin,
  type SessionState,
} from "@capstan/core";
import { Warmer } from "./warmer.ts";

export type CacheWarmingOptions = {
  /** Reads of one wait at most, from 1. Default 4, which bridges 23 minutes for 0.4 of what the prompt costs uncached. */
  readonly times?: number;
};

const TIMES = 4;

/**
 * For models that take cache markers (Anthropic's, there and over OpenRouter), whose cache lives five minutes from its last
 * use. While a tool runs long or a person is asked, the last request is sent again every four and a half minutes with room for
 * one token of answer; the answer is dropped, what it cost is recorded with the session and counts in the limits of the run.
 * Stands behind plugins that change what the model is asked: it repeats what it saw itself. Throws `plugin-invalid`.
 */
export function cacheWarming({ times = TIMES }: CacheWarmingOptions = {}): Plugin {
  if (!Number.isSafeInteger(times) || times < 1)
    throw new CapstanError("plugin-invalid", "cacheWarming: `times` is a whole number from 1 on");
  const warmers = new Map<Definitions, Warmer>();
  /** By session: as it was before the call that is under way. */
  const before = new Map<string, SessionState>();
  const stop = (sessionId: string): void => {
    before.delete(sessionId);
    for (const warmer of warmers.values()) warmer.stop(sessionId);
  };
  return plugin({
    name: "cache-warming",
    prepare(request, { state }) {
      if (request.cache.length > 0) before.set(request.sessionId, state);
      else stop(request.sessionId);
    },
    async *model(request, _context, next) {
      const state = before.get(request.sessionId);
      for (const warmer of warmers.values()) warmer.stop(request.sessionId);
      const asked: ModelRequest = { ...request, messages: [...request.messages] }; // the conversation's own list grows
      const begun = [...warmers].map(([runtime, warmer]) => [warmer, runtime.clock.monotonic()] as const);
      for await (const batch of next(request)) {
        const end = batch.find((event) => event.type === "finish");
        if (end !== undefined) before.delete(request.sessionId);
        if (end?.reason === "tool-calls" && state !== undefined) {
          for (const [warmer, at] of begun) warmer.watch({ request: asked, state, usage: end.usage }, at);
        }
        yield batch;
      }
    },
    on({ event, sessionId }) {
      if (event.type === "run.finished") stop(sessionId);
    },
    open(runtime) {
      const warmer = new Warmer(runtime, times);
      warmers.set(runtime, warmer);
      return {
        async [Symbol.asyncDispose]() {
          warmers.delete(runtime);
          await warmer.close();
        },
      };
    },
  });
}
