/** What a runtime is opened with. */

import type { Agent, Permission } from "../ports/agent.ts";
import type { Definitions } from "../ports/definitions.ts";
import type { Engine } from "../ports/engine.ts";
import type { Model } from "../ports/model.ts";
import type { Plugin } from "../ports/plugin.ts";
import type { WorkspaceFactory } from "../ports/workspace.ts";
import type { Clock } from "../words/clock.ts";
import type { Ids } from "../words/ids.ts";

export type RuntimeOptions = {
  readonly agents: readonly Agent<unknown>[];
  /** Closed with the runtime. */
  readonly engine: Engine;
  /** Which sessions this process drives: those it opens and their children, all of the store, or none. Default "own". */
  readonly work?: "own" | "all" | "none";
  /** Rules and mode for every agent of this runtime. */
  readonly permission?: Permission;
  readonly workspaces?: { readonly [kind: string]: WorkspaceFactory };
  readonly plugins?: readonly Plugin[];
  /** Models in place of an agent's own, by agent name. */
  readonly models?: { readonly [agent: string]: Model };
  readonly onRequest?: Definitions["onRequest"];
  /** Keeps a rule that a person gave for an agent or for all of them: without it "always" means the session only. */
  readonly remember?: Definitions["remember"];
  /** Texts that never enter log, stream or error. */
  readonly secrets?: readonly string[];
  /** What only embedders and tests give. */
  readonly host?: RuntimeHost;
};
export type RuntimeHost = {
  readonly clock?: Clock;
  readonly ids?: Ids;
  /** Makes a model of `"provider/name"`. */
  readonly resolveModel?: (name: string) => Promise<Model>;
};
