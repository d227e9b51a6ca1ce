/** Processes of programs that wait for results, so that the next step needs no new one. Each is given up after a while. */

import { systemClock } from "@capstan/core";
import { CODE_LIMITS as LIMITS } from "./limits.ts";
import type { RunningProgram } from "./program.ts";

type Waiting = { readonly program: RunningProgram; readonly cancel: () => void };

export class WaitingPrograms {
  readonly #idleMs: number;
  /** The one that waits longest is first. */
  readonly #waiting = new Map<string, Waiting>();

  constructor(idleMs: number) {
    this.#idleMs = idleMs;
  }

  /** `place` names the session and all calls so far: a program that stands elsewhere is never taken. */
  keep(place: string, program: RunningProgram): void {
    this.#end(place);
    if (this.#idleMs <= 0) return program.close();
    const cancel = systemClock.after(this.#idleMs, () => this.#end(place), { background: true });
    this.#waiting.set(place, { program, cancel });
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size > LIMITS.waiting && oldest !== undefined) this.#end(oldest);
  }

  take(place: string): RunningProgram | undefined {
    const found = this.#waiting.get(place);
    found?.cancel();
    this.#waiting.delete(place);
    return found?.program;
  }

  #end(place: string): void {
    this.take(place)?.close();
  }
}
