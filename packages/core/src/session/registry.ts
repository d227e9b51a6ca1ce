/** What one runtime knows: its agents, models, workspaces and plugins, and the work it does on its engine. */

import { policyOf } from "../hold/policy.ts";
import { checkKnownRules } from "../hold/tool-set.ts";
import type { Policy } from "../permission/permission.ts";
import { type Agent, type Permission, repeated } from "../ports/agent.ts";
import type { Definitions } from "../ports/definitions.ts";
import type { Engine } from "../ports/engine.ts";
import type { Journal } from "../ports/journal.ts";
import type { Model } from "../ports/model.ts";
import { asksForTools, listedTools, type Plugin } from "../ports/plugin.ts";
import type { Tool } from "../ports/tool.ts";
import type { Workspace, WorkspaceFactory } from "../ports/workspace.ts";
import { drive } from "../run.ts";
import type { Clock } from "../words/clock.ts";
import { CapstanError } from "../words/errors.ts";
import type { WorkspaceRef } from "../words/event.ts";
import type { Ids } from "../words/ids.ts";
import { hashJson, type Json } from "../words/json.ts";
import { type Redactor, redactor } from "../words/redact.ts";
import { observe } from "./observe.ts";
import type { RuntimeOptions } from "./runtime-options.ts";

export class Registry implements Definitions {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly redactor: Redactor;
  readonly permission: Permission;
  readonly plugins: readonly Plugin[];
  readonly works: "own" | "all" | "none";
  readonly onRequest?: NonNullable<Definitions["onRequest"]>;
  readonly remember?: NonNullable<Definitions["remember"]>;
  readonly #agents = new Map<string, Agent<unknown>>();
  readonly #models: { [agent: string]: Model };
  readonly #resolveModel: (name: string) => Promise<Model>;
  readonly #resolved = new Map<string, Promise<Model>>();
  readonly #factories: { readonly [kind: string]: WorkspaceFactory };
  readonly #workspaces = new Map<string, Promise<Workspace>>();
  readonly #unanswered = new Set<string>();
  readonly #stop = new AbortController();
  #working: Promise<void> = Promise.resolve();
  readonly #opened = new Set<Plugin>();
  /** What `on` hooks have yet to hear of sessions that are not driven any more. */
  readonly #observed = new Set<Promise<void>>();
  #users = 1;
  #disposables: AsyncDisposable[] = [];
  #closing: Promise<void> | undefined;

  /**
   * Resolves once every agent was checked, every model resolved and every plugin opened. An engine that is open already
   * keeps its registry: the new agents join it, by name in place of older ones; the last close ends it. Throws
   * `config-invalid` when they come with rules, plugins, workspaces or handlers of their own.
   */
  static async open(options: RuntimeOptions, clock: Clock, ids: Ids): Promise<Registry> {
    const shared = open.get(options.engine);
    if (shared !== undefined && shared.#closing === undefined) return shared.#join(options);
    const registry = new Registry(options, clock, ids);
    open.set(options.engine, registry);
    try {
      await registry.#open(options.agents);
    } catch (error) {
      open.delete(options.engine); // nobody holds it: a later open must not join it
      throw error;
    }
    registry.#work();
    return registry;
  }

  private constructor(options: RuntimeOptions, clock: Clock, ids: Ids) {
    this.engine = options.engine;
    this.clock = clock;
    this.ids = ids;
    this.redactor = redactor(options.secrets ?? []);
    this.permission = Object.freeze({ ...options.permission });
    this.plugins = options.plugins ?? [];
    this.works = options.work ?? "own";
    if (options.onRequest !== undefined) this.onRequest = options.onRequest;
    if (options.remember !== undefined) this.remember = options.remember;
    this.#models = { ...options.models };
    this.#factories = options.workspaces ?? {};
    this.#resolveModel = options.host?.resolveModel ?? unresolvable;
  }

  /** Whether an answer to this request will come from this process. */
  answers(requestId: string): boolean {
    return this.onRequest !== undefined && !this.#unanswered.has(requestId);
  }

  unanswered(requestId: string): void {
    this.#unanswered.add(requestId);
  }

  find(name: string): Agent<unknown> | undefined {
    return this.#agents.get(name);
  }

  agent(name: string): Agent<unknown> {
    const known = this.#agents.get(name);
    if (known !== undefined) return known;
    const names = [...this.#agents.keys()].join(", ") || "none";
    throw new CapstanError(
      "agent-unknown",
      `This runtime has no agent named ${JSON.stringify(name)} (it has: ${names}); its sessions wait until one is given`,
    );
  }

  model(agent: Agent<unknown>, name?: string): Promise<Model> {
    const fixed = Object.hasOwn(this.#models, agent.name) ? this.#models[agent.name] : undefined;
    if (fixed !== undefined) return Promise.resolve(fixed);
    const wanted = name ?? agent.model;
    if (typeof wanted !== "string") return Promise.resolve(wanted);
    return kept(this.#resolved, wanted, () => this.#resolveModel(wanted)); // a key may be set later
  }

  workspace({ kind, root }: WorkspaceRef): Promise<Workspace> {
    const factory = Object.hasOwn(this.#factories, kind) ? this.#factories[kind] : undefined;
    if (factory === undefined) {
      return Promise.reject(
        new CapstanError(
          "workspace-missing",
          `This runtime knows no workspaces of kind ${JSON.stringify(kind)}; give openRuntime a factory for it`,
        ),
      );
    }
    return kept(this.#workspaces, `${kind}:${root}`, () => factory(root)); // the folder may come back
  }

  async close(graceMs: number): Promise<void> {
    this.#users = Math.max(0, this.#users - 1);
    if (this.#users > 0) return;
    this.#closing ??= this.#close(graceMs);
    await this.#closing;
  }

  async #join(options: RuntimeOptions): Promise<Registry> {
    const other = this.#contradicted(options);
    if (other !== undefined) {
      throw new CapstanError(
        "config-invalid",
        `This engine is in use by a runtime with another \`${other}\`, which holds for all its agents. Leave it out, give the same, or close that runtime first`,
      );
    }
    Object.assign(this.#models, options.models);
    for (const secret of options.secrets ?? []) this.redactor.add(secret);
    await this.#open(options.agents);
    this.#users += 1;
    this.#work();
    return this;
  }

  /** The first option that would have to hold for all agents here, and does not. What is left out contradicts nothing. */
  #contradicted(options: RuntimeOptions): string | undefined {
    const { permission, plugins, workspaces = {}, work, onRequest, remember, host } = options;
    const same: { readonly [option: string]: boolean } = {
      permission: permission === undefined || hashJson(permission as Json) === hashJson(this.permission as Json), // rules are texts
      plugins: plugins?.every((plugin) => this.plugins.includes(plugin)) ?? true,
      workspaces: Object.entries(workspaces).every(([kind, factory]) => this.#factories[kind] === factory),
      work: work === undefined || work === this.works,
      onRequest: onRequest === undefined || onRequest === this.onRequest,
      remember: remember === undefined || remember === this.remember,
      "host.resolveModel": host?.resolveModel === undefined || host.resolveModel === this.#resolveModel,
    };
    return Object.keys(same).find((option) => same[option] === false);
  }

  async #open(given: readonly Agent<unknown>[]): Promise<void> {
    const agents = withInner(given);
    const twice = repeated(agents.map(({ name }) => name));
    if (twice !== undefined) {
      throw new CapstanError("agent-invalid", `Two agents are named ${twice}; names are unique in a runtime`);
    }
    const shared = this.plugins.flatMap(listedTools);
    const known = (policy: Policy, tools: readonly Tool[], plugins: readonly Plugin[]): void => {
      if (plugins.some(asksForTools)) return; // said where a run begins
      checkKnownRules(
        policy,
        tools.map(({ name }) => name),
      );
    };
    for (const agent of agents) {
      refuseTwice("plugin", [...this.plugins, ...agent.plugins]);
      refuseTwice("tool", [...shared, ...agent.tools]);
      const rules = policyOf({ mode: "ask", rules: [] }, agent.permission, {});
      known(rules, [...shared, ...agent.tools], [...this.plugins, ...agent.plugins]);
      refuseNobody(agent, [...this.#agents.values(), ...agents]);
      await this.model(agent);
    }
    const everywhere = [...this.#agents.values(), ...agents];
    known(
      policyOf({ mode: "ask", rules: [] }, {}, this.permission),
      [...shared, ...everywhere.flatMap(({ tools }) => tools)],
      [...this.plugins, ...everywhere.flatMap(({ plugins }) => plugins)],
    );
    for (const agent of agents) this.#agents.set(agent.name, agent);
    for (const plugin of this.#allPlugins()) {
      if (this.#opened.has(plugin)) continue;
      this.#opened.add(plugin);
      const opened = await plugin.open?.(this);
      if (opened !== undefined) this.#disposables.push(opened);
    }
  }

  /** Begins to drive sessions, or looks again at those that waited for an agent. */
  #work(): void {
    if (this.works === "none") return;
    const working = this.engine.work((journal) => this.#drive(journal), {
      which: this.works,
      signal: this.#stop.signal,
    });
    working.catch(() => undefined); // reported by close
    this.#working = working;
  }

  async #drive(journal: Journal): Promise<"finished" | "parked"> {
    const concerns = (plugin: Plugin, agent: string): boolean =>
      this.plugins.includes(plugin) || this.#agents.get(agent)?.plugins.includes(plugin) === true;
    const observed = observe({ engine: this.engine, clock: this.clock, journal }, this.#allPlugins(), concerns);
    try {
      return await drive(journal, this);
    } finally {
      const rest = observed.end();
      this.#observed.add(rest);
      void rest.finally(() => this.#observed.delete(rest));
    }
  }

  #allPlugins(): readonly Plugin[] {
    return [...new Set([...this.plugins, ...[...this.#agents.values()].flatMap((agent) => agent.plugins)])];
  }

  async #close(graceMs: number): Promise<void> {
    this.#stop.abort();
    let cancel = (): void => undefined;
    const grace = new Promise<void>((resolve) => (cancel = this.clock.after(graceMs, resolve)));
    const done = this.#working.catch(() => undefined).then(() => Promise.all(this.#observed));
    await Promise.race([done, grace]);
    cancel();
    await this.engine.close();
    const opened = await Promise.allSettled(this.#workspaces.values());
    for (const result of opened) if (result.status === "fulfilled") await result.value.close();
    for (const disposable of this.#disposables.toReversed()) await disposable[Symbol.asyncDispose]();
  }
}

/** Registries of open engines. */
const open = new WeakMap<Engine, Registry>();

/** Agents with those among their tools, each once. */
function withInner(agents: readonly Agent<unknown>[]): readonly Agent<unknown>[] {
  const found = new Set(agents);
  for (const agent of found) for (const inner of agent.agents) found.add(inner); // a set is walked through what is added too
  return [...found];
}

/** The promise of this key, made once; a failed one is forgotten. */
function kept<T>(promises: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  const known = promises.get(key);
  if (known !== undefined) return known;
  const made = make();
  promises.set(key, made);
  made.catch(() => promises.delete(key));
  return made;
}

/** Names are keys: of a plugin's fold and steps, of a tool for the model and for rules. */
function refuseTwice(kind: string, named: readonly { readonly name: string }[]): void {
  const twice = repeated(named.map(({ name }) => name));
  if (twice === undefined) return;
  throw new CapstanError(
    "plugin-invalid",
    `Two ${kind}s are named ${twice}, one of the runtime's plugins and one of the agent's; give them different names`,
  );
}

/** An agent may name those that take over, and is made before them. */
function refuseNobody({ name, tools }: Agent<unknown>, known: readonly Agent<unknown>[]): void {
  for (const { body } of tools) {
    if (body.type !== "handoff" || known.some((other) => other.name === body.agent)) continue;
    throw new CapstanError(
      "agent-invalid",
      `Agent ${JSON.stringify(name)} hands over to ${JSON.stringify(body.agent)}, which this runtime does not have; give it among its agents`,
    );
  }
}

function unresolvable(name: string): Promise<Model> {
  return Promise.reject(
    new CapstanError(
      "model-unknown",
      `No provider is known for ${JSON.stringify(name)}; give the agent a Model, or import openRuntime from "capstan"`,
    ),
  );
}
