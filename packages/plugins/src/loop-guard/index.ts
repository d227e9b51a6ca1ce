/** Finds a run that goes round in circles by what its turns bring, not by what they ask: warns the model, then ends the run. */

import { CapstanError, type Fact, hashJson, type Json, type Plugin, plugin, text, textOf } from "@capstan/core";
import { recall, type Remembered } from "../remembered.ts";

export type LoopGuardOptions = {
  /** Turns in a row without anything new before the model is warned; default 3. */
  readonly warnAfter?: number;
  /** Turns in a row without anything new before the run ends with `limit-reached`; default 6. */
  readonly endAfter?: number;
  /** Tools that wait for something: their calls neither count as progress nor against it. */
  readonly polling?: readonly string[];
};

const NAME = "loop-guard";
/** Results that are remembered of one run, the newest. */
const RESULTS = 1_000;

/**
 * `seen`: hashes of what results brought so far. `asked`: the calls of this turn by id. `judged` and `fresh`: whether this
 * turn brought results, and a new one. `still`: whole turns in a row that brought nothing new.
 */
type Own = {
  readonly seen: readonly string[];
  readonly asked: Remembered<Json>;
  readonly judged: boolean;
  readonly fresh: boolean;
  readonly still: number;
};
const START: Own = { seen: [], asked: [], judged: false, fresh: false, still: 0 };

/**
 * A result is new when this call has not brought it before in this run; an error is new when this tool has not failed so
 * before, whatever it was called with. So the same call with another result is progress, and so is anything done between
 * two equal ones. Throws `plugin-invalid` for bounds that are none.
 */
export function loopGuard({ warnAfter = 3, endAfter = 6, polling = [] }: LoopGuardOptions = {}): Plugin {
  const isBound = (bound: number): boolean => Number.isSafeInteger(bound) && bound > 0;
  if (!isBound(warnAfter) || !isBound(endAfter) || endAfter <= warnAfter) {
    throw new CapstanError(
      "plugin-invalid",
      "loopGuard: warnAfter and endAfter are whole numbers, warnAfter the smaller",
    );
  }
  const waits = new Set(polling);
  return plugin<Own>({
    name: NAME,
    fold: { start: START, next: (own, fact) => next(own, fact, waits) },
    prepare(_request, context) {
      const still = stillOf(context.own);
      if (still < warnAfter) return undefined;
      if (still >= endAfter) {
        throw new CapstanError("limit-reached", `The run was ended: ${still} turns in a row brought nothing new`);
      }
      context.notice("No progress", `${still} turns in a row brought nothing new; the run ends after ${endAfter}`);
      return { tail: [text(warning(still, endAfter))] };
    },
  });
}

function warning(still: number, endAfter: number): string {
  return (
    `<system>Your last ${still} turns brought nothing that you did not know: the same calls with the same results, or the same errors. ` +
    `Do something else: think about why it does not work, try another way, or say what you need. The run ends after ${endAfter} such turns.</system>`
  );
}

/** With the turn whose results have come, before the next one starts. */
function stillOf({ judged, fresh, still }: Own): number {
  if (!judged) return still;
  return fresh ? 0 : still + 1;
}

function next(own: Own, fact: Fact, polling: ReadonlySet<string>): Own {
  switch (fact.type) {
    case "run.started":
      return START;
    case "turn.started":
      return { ...own, asked: [], judged: false, fresh: false, still: stillOf(own) };
    case "message.added": {
      // somebody said something: what comes now has a reason of its own
      if (fact.message.role === "user") return fact.inputId === undefined ? own : { ...own, judged: false, still: 0 };
      const calls = fact.message.parts.flatMap((part) =>
        part.type === "tool-call" && part.by !== "provider" ? [[part.callId, part.input] as const] : [],
      );
      return { ...own, asked: calls };
    }
    case "tool.finished": {
      const { callId, name, output } = fact;
      if (polling.has(name)) return own;
      const asked = output.isError === true ? null : (recall(own.asked, callId) ?? null);
      const brought = hashJson([name, output.isError === true, asked, textOf(output.content)]).slice(0, 16);
      const known = own.seen.includes(brought);
      const seen = known ? own.seen : [...own.seen, brought].slice(-RESULTS);
      return { ...own, seen, judged: true, fresh: own.fresh || !known };
    }
    default:
      return own;
  }
}
