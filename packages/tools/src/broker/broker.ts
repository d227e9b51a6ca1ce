/**
 * @capstan/tools/broker: programs of a workspace use services whose secrets they never hold (PERM-20). They are given an
 * address of this process, which adds the secret on the way out and takes it out of what comes back.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import {
  type HookContext,
  plugin,
  type Plugin,
  CapstanError,
  type Redactor,
  systemClock,
  systemIds,
} from "@capstan/core";
import type { Gateway, GatewayGrant } from "../workspaces/confiner.ts";
import { type Listening, listen } from "./broker-listeners.ts";
import { brokerProxy, type Caller } from "./broker-proxy.ts";
import { BROKER_LIMITS as LIMITS } from "./limits.ts";
import { type BrokeredService, checkedService, secretsIn, type Service } from "./service.ts";

export { BROKER_LIMITS } from "./limits.ts";
export type { BrokeredService, SecretHeaders } from "./service.ts";

/** For workspaces, as their `gateway`, and for the runtime, as one of its plugins. */
export type Broker = Gateway & {
  /** Opens it with the runtime and closes it with the last one, keeps its secrets out of logs, and notes what was asked. */
  readonly plugin: Plugin;
};
/** What the log says of one request: its `data` facts are named `plugin/broker`. */
export type BrokeredRequest = {
  readonly service: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
};

const ids = systemIds(() => systemClock.now());

/** Throws `config-invalid`. */
export function broker(services: { readonly [name: string]: BrokeredService }): Broker {
  const checked = Object.entries(services).map(([name, given]) => checkedService(name, given));
  const owner = new BrokerServer(checked);
  return { plugin: brokerPlugin(owner), grant: () => owner.grant() };
}

/** The session whose call is going on: what it starts, it may be asked about. */
const session = new AsyncLocalStorage<string>();

function brokerPlugin(owner: BrokerServer): Plugin {
  return plugin({
    name: "broker",
    open: ({ redactor }) => owner.open(redactor),
    async tool(call, context, next) {
      const output = await session.run(context.sessionId, () => next(call));
      await writeDown(owner, context);
      return output;
    },
    prepare: (_request, context) => writeDown(owner, context), // those of commands in the background
  });
}

async function writeDown(owner: BrokerServer, context: HookContext): Promise<void> {
  const { requests, more } = owner.take(context.sessionId);
  if (requests.length === 0) return;
  for (const { service, method, path, status } of requests)
    context.notice(`${service}: ${method} ${path}`, `${status}`);
  await context.record({ requests, ...(more > 0 && { more }) });
}

type Noted = { readonly requests: BrokeredRequest[]; more: number };

class BrokerServer {
  readonly #services: ReadonlyMap<string, Service>;
  readonly #redactors = new Set<Redactor>();
  readonly #callers = new Map<string, Caller>();
  readonly #known: Set<string>;
  readonly #noted = new Map<string, Noted>();
  #listening: Promise<Listening> | undefined;

  constructor(services: readonly Service[]) {
    this.#services = new Map(services.map((service) => [service.name, service]));
    this.#known = new Set(services.flatMap(({ fixedHeaders }) => secretsIn(fixedHeaders)));
  }

  open(redactor: Redactor): AsyncDisposable {
    this.#redactors.add(redactor);
    for (const secret of this.#known) redactor.add(secret);
    return {
      [Symbol.asyncDispose]: async () => {
        this.#redactors.delete(redactor);
        if (this.#redactors.size > 0) return;
        this.#callers.clear();
        this.#noted.clear();
        const listening = this.#listening;
        this.#listening = undefined;
        await (await listening?.catch(() => undefined))?.close();
      },
    };
  }

  async grant(): Promise<GatewayGrant> {
    if (this.#redactors.size === 0)
      throw new CapstanError("config-invalid", "This broker is not open: give its plugin to openRuntime({ plugins })");
    const { port, socket } = await (this.#listening ??= listen(() => this.#server()));
    const token = ids.random();
    const sessionId = session.getStore() ?? "";
    this.#callers.set(token, { note: (request) => this.#note(sessionId, request) });
    return {
      ...(socket !== undefined && { socket }),
      env: (reached = port) =>
        Object.fromEntries(
          [...this.#services.values()].map(({ name, env }) => [env, `http://127.0.0.1:${reached}/${token}/${name}`]),
        ),
      end: () => void this.#callers.delete(token),
    };
  }

  /** What was asked since the last time. */
  take(sessionId: string): Noted {
    const noted = this.#noted.get(sessionId) ?? { requests: [], more: 0 };
    this.#noted.delete(sessionId);
    return noted;
  }

  #server(): ReturnType<typeof brokerProxy> {
    return brokerProxy({
      services: this.#services,
      caller: (token) => this.#callers.get(token),
      learn: (secrets) => this.#learn(secrets),
    });
  }

  #note(sessionId: string, request: BrokeredRequest): void {
    if (sessionId === "") return; // started by nobody's call
    const noted = this.#noted.get(sessionId) ?? { requests: [], more: 0 };
    this.#noted.set(sessionId, noted);
    if (noted.requests.length < LIMITS.noted) noted.requests.push(request);
    else noted.more += 1;
  }

  #learn(secrets: readonly string[]): void {
    for (const secret of secrets) {
      if (this.#known.has(secret)) continue;
      this.#known.add(secret);
      for (const redactor of this.#redactors) redactor.add(secret);
    }
  }
}
