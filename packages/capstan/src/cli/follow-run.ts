/** Follows one run to its end, or to the point where only a person elsewhere can move it. Ctrl-C interrupts it. */

import {
  addUsage,
  CapstanError,
  type Engine,
  isLive,
  type OpenRequest,
  type Run,
  type RunResult,
  type Runtime,
} from "@capstan/core";
import type { Config } from "../config.ts";
import { canAsk } from "./ask-person.ts";
import { EXIT, exitOfReason } from "./failure.ts";
import type { Refusals } from "./refusals.ts";
import type { RunEnd, RunView } from "./run-view.ts";
import type { Screen } from "./screen.ts";
import { onSignals } from "./signals.ts";

export type FollowOptions = {
  /** The command, for what it tells people to type. */
  readonly name: string;
  readonly runtime: Runtime;
  readonly screen: Screen;
  readonly view: RunView;
  readonly failures: Failures;
  /** Present when asks are denied because nobody can be asked. */
  readonly refusals?: Refusals;
  /** Which open requests are answered in this process. */
  readonly answers: "none" | "person" | "all";
};

/** `config`: whose own way to answer comes before the person at the terminal. */
export function answersHere(config: Config | undefined, { asks }: Screen): FollowOptions["answers"] {
  return config?.onRequest !== undefined ? "all" : asks ? "person" : "none";
}

export async function followRun(run: Run<unknown>, options: FollowOptions): Promise<RunEnd> {
  const { view, refusals, failures } = options;
  const signals = onSignals(run, options);
  let declined = false; // the person has gone
  const events = run.events()[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await Promise.race([events.next(), failures.first]);
      if (next.done === true) break;
      const { event } = next.value;
      view.show(next.value);
      if (!isLive(event)) refusals?.observe(event);
      if (event.type === "notice" && event.code === "request-open") declined = true;
      else if (event.type !== "run.suspended" && event.type !== "request.opened") continue;
      const waiting = await waitingEnd(run, declined ? "none" : options.answers);
      if (waiting !== undefined) return ended(run, options, waiting);
    }
    return ended(run, options, await run.result());
  } finally {
    signals.end();
    void events.return?.();
  }
}

function ended(run: Run<unknown>, { view, refusals }: FollowOptions, result: RunResult<unknown>): RunEnd {
  const denied = refusals?.list ?? [];
  const end: RunEnd = {
    sessionId: run.session.id,
    runId: run.id,
    result,
    requests: result.requests,
    refusals: denied,
    exitCode: exitCodeOf(result, denied.length),
  };
  view.end(end);
  return end;
}

/** An answer withheld for want of a person counts only when the run came to its own end. */
function exitCodeOf({ status, reason = "interrupted" }: RunResult<unknown>, refused: number): number {
  if (status === "waiting") return EXIT.waiting;
  const code = exitOfReason(reason);
  return code === EXIT.done && refused > 0 ? EXIT.refused : code;
}

async function waitingEnd(
  run: Run<unknown>,
  answers: FollowOptions["answers"],
): Promise<RunResult<unknown> | undefined> {
  if (answers === "all") return undefined;
  const state = await run.session.state();
  const requests: readonly OpenRequest[] = Object.values(state.requests);
  if (state.status !== "waiting" || state.run?.id !== run.id) return undefined;
  if (answers === "person" && requests.some(({ body }) => canAsk(body))) return undefined;
  const { usage, childUsage, turns } = state.run;
  return {
    status: "waiting",
    text: "",
    requests,
    messages: [],
    usage,
    treeUsage: addUsage(usage, childUsage),
    turns,
    hooks: [],
  };
}

/** What keeps a session from being driven here; `first` never resolves, it rejects. */
export type Failures = { readonly first: Promise<never>; end(): void };

/** To be called before the input is sent. A worker tells such a failure as a live notice, which nobody repeats. */
export function watchFailures(engine: Engine, sessionId: string): Failures {
  const stop = new AbortController();
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined); // seen by whoever follows the run
  const watch = async (): Promise<void> => {
    for await (const { event } of engine.events(sessionId, { after: "end", signal: stop.signal })) {
      if (event.type !== "notice" || event.severity !== "error") continue;
      reject(new CapstanError(knownCode(event.code), event.title));
    }
  };
  watch().catch((error: unknown) => reject(error));
  return { first: promise, end: () => stop.abort() };
}

function knownCode(code: string): CapstanError["code"] {
  return code as CapstanError["code"]; // the engine puts the code of a CapstanError there
}
