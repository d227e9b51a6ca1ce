/** OpenTelemetry spans of runs, model calls and tools, by the conventions for generative AI. */

import { type Fact, type Plugin, plugin } from "@capstan/core";
import { recorded } from "../own-facts.ts";
import { type OtelApi, type OtelProvider, toTraceparent } from "./otel-api.ts";
import { PLUGIN_NAME, type Recorded, RunSpans } from "./run-spans.ts";
import { requestContent } from "./span-content.ts";

export type { OtelApi, OtelProvider } from "./otel-api.ts";

export type TracingOptions = {
  /** `import * as api from "@opentelemetry/api"`. */
  readonly api: OtelApi;
  /** Default the provider that is registered with `api`. */
  readonly provider?: OtelProvider;
  /** Also what is said: prompts, answers, arguments and results, secrets taken out. Default false. */
  readonly content?: boolean;
};

const SCOPE = "capstan";

/** Give it to the runtime, so that sub-agents are traced too. The loop waits for nothing of it but one fact a run. */
export function tracing({ api, provider = api.trace, content = false }: TracingOptions): Plugin {
  const spans = new RunSpans({ api, tracer: provider.getTracer(SCOPE) }, content);
  let redact = <T>(value: T): T => value;
  return plugin<string>({
    name: PLUGIN_NAME,
    // the run whose span is written down: what another process links its own to
    fold: { start: "", next: (run, fact: Fact) => recorded<Recorded>(fact, PLUGIN_NAME)?.run ?? run },
    onFailure: "ignore",
    async prepare(_request, context) {
      const { own, runId, state } = context;
      if (own === runId) return;
      const span = spans.ofRun(state);
      const traceparent = span === undefined ? undefined : toTraceparent(span);
      if (traceparent !== undefined) await context.record({ run: runId, traceparent } satisfies Recorded);
    },
    ...(content && {
      model(request, _context, next) {
        spans.ask(request.sessionId, redact(requestContent(request)));
        return next(request);
      },
    }),
    on: (envelope) => spans.see(envelope),
    open(runtime) {
      redact = <T>(value: T): T => runtime.redactor.json(value as never) as T; // plain data
      spans.add(runtime);
      return {
        async [Symbol.asyncDispose]() {
          spans.remove(runtime);
        },
      };
    },
  });
}
