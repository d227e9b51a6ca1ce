/** The request that is shown: the oldest one. What was being typed when it came is never its answer. */

import { ANSWER_QUIET_MS } from "./limits.ts";
import type { Panel } from "./panels/panel.ts";
import { type RequestPanel, requestPanel } from "./panels/request-panel.ts";
import type { Terminal } from "./terminal.ts";
import type { Key } from "./view/screen.ts";

type Asking = { readonly id: string; readonly panel: RequestPanel; readyAt: number };

export class Asker {
  readonly #terminal: Terminal;
  #asking: Asking | undefined;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  get panel(): Panel | undefined {
    return this.#now()?.panel;
  }

  /** True when the key was for the request. Before it is ready every key puts it off, and goes to the editor. */
  key(key: Key): boolean {
    const asking = this.#now();
    if (asking === undefined || asking.panel.isBusy) return false;
    const { clock } = this.#terminal;
    if (clock.monotonic() >= asking.readyAt) {
      asking.panel.key(key);
      return true;
    }
    this.#wait(asking);
    return false;
  }

  #wait(asking: Asking): void {
    const { clock } = this.#terminal;
    asking.readyAt = clock.monotonic() + ANSWER_QUIET_MS;
    clock.after(ANSWER_QUIET_MS + 1, () => this.#terminal.draw(), { background: true });
  }

  #now(): Asking | undefined {
    const { link, context, screen, clock } = this.#terminal;
    const [first] = link?.requests ?? [];
    if (link === undefined || first === undefined) return (this.#asking = undefined);
    const { request, asker } = first;
    if (this.#asking?.id === request.requestId) return this.#asking;
    const asking: Asking = {
      id: request.requestId,
      readyAt: 0,
      panel: requestPanel({
        context,
        screen,
        request,
        asker,
        more: () => link.requests.length - 1,
        answer: (answer) => link.respond(request, answer),
        interrupt: () => this.#terminal.interrupt(),
        isReady: () => clock.monotonic() >= asking.readyAt,
        redraw: () => this.#terminal.draw(),
      }),
    };
    this.#wait(asking);
    return (this.#asking = asking);
  }
}
