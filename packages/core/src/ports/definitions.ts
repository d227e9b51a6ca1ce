/** What the loop needs to know beside the log: agents by name, models, workspaces, rules, the clock. One per runtime. */

import type { Clock } from "../words/clock.ts";
import type { WorkspaceRef } from "../words/event.ts";
import type { Redactor } from "../words/redact.ts";
import type { Answer, OpenRequest } from "../words/request.ts";
import type { Agent, Permission } from "./agent.ts";
import type { Engine } from "./engine.ts";
import type { Model } from "./model.ts";
import type { Plugin } from "./plugin.ts";
import type { Workspace } from "./workspace.ts";

export interface Definitions {
  readonly clock: Clock;
  readonly redactor: Redactor;
  /** Where sub-agents are started, and heard of. */
  readonly engine: Engine;
  /** Throws `agent-unknown`: the session then stays parked. */
  agent(name: string): Agent<unknown>;
  find(name: string): Agent<unknown> | undefined;
  /** The model of an agent, or the named one. Throws `model-unknown`. */
  model(agent: Agent<unknown>, name?: string): Promise<Model>;
  /** Throws `workspace-missing`. */
  workspace(ref: WorkspaceRef): Promise<Workspace>;
  /** Rules of every agent of this runtime: the global tier. */
  readonly permission: Permission;
  /** Plugins of every agent of this runtime, outside the agent's own. */
  readonly plugins: readonly Plugin[];
  /** Answers requests in this process; what it leaves without an answer stays open for any door. */
  readonly onRequest?: (request: OpenRequest, options: { readonly signal: AbortSignal }) => Promise<Answer | undefined>;
  /** Keeps a rule that a person gave for an agent or for all of them, outside of the session. */
  readonly remember?: (
    rule: string,
    of: { readonly scope: "agent" | "global"; readonly agent: string },
  ) => Promise<void>;
  /** Told when `onRequest` gave no fitting answer. */
  unanswered(requestId: string): void;
}
