/** What an editor may set of a session: how calls are permitted, and the model. */

import type { SessionConfigOption, SessionModeState } from "@agentclientprotocol/sdk";
import type { PermissionMode } from "@capstan/core";
import { invalidParams } from "./rpc-errors.ts";

export type ModelChoice = {
  /** What `session.update({ model })` takes. */
  readonly id: string;
  readonly name: string;
};
export type Chosen = { readonly mode: string; readonly model: string | undefined };
export type Change = { readonly mode: string } | { readonly model: string };

const MODES: { readonly [Mode in Exclude<PermissionMode, "never-ask">]: readonly [name: string, description: string] } =
  {
    ask: ["Ask", "Asks before it writes, runs or fetches."],
    "accept-edits": ["Accept edits", "Writes files of the folder without asking."],
    plan: ["Plan", "Looks only, and makes a plan."],
    bypass: ["Allow all", "Asks only where a rule says so."],
  };

export class SessionConfig {
  readonly #models: readonly ModelChoice[];

  constructor(models: readonly ModelChoice[]) {
    this.#models = models;
  }

  modes({ mode }: Chosen): SessionModeState {
    return { currentModeId: mode, availableModes: modeChoices(mode) };
  }

  options({ mode, model }: Chosen): SessionConfigOption[] {
    const modes = modeChoices(mode).map(({ id, name, description }) => ({ value: id, name, description }));
    const options: SessionConfigOption[] = [
      { type: "select", id: "mode", name: "Permission", category: "mode", currentValue: mode, options: modes },
    ];
    const models = this.#modelsWith(model).map(({ id, name }) => ({ value: id, name }));
    const [first] = models;
    if (first === undefined) return options;
    const currentValue = model ?? first.value;
    return [
      ...options,
      { type: "select", id: "model", name: "Model", category: "model", currentValue, options: models },
    ];
  }

  /** Throws an error of the protocol for what cannot be chosen. */
  change(configId: string, value: unknown, chosen: Chosen): Change {
    const known = this.options(chosen).find(({ id }) => id === configId);
    if (known === undefined || known.type !== "select")
      throw invalidParams(`There is no option ${JSON.stringify(configId)}`);
    const values = known.options.flatMap((option) => ("value" in option ? [option.value] : []));
    if (typeof value !== "string" || !values.includes(value))
      throw invalidParams(`${configId} can be: ${values.join(", ")}`);
    return configId === "mode" ? { mode: value } : { model: value };
  }

  #modelsWith(current: string | undefined): readonly ModelChoice[] {
    if (current === undefined || this.#models.some(({ id }) => id === current)) return this.#models;
    return [{ id: current, name: current }, ...this.#models];
  }
}

/** One that is in force can be shown also when it cannot be chosen. */
function modeChoices(current: string): { id: string; name: string; description: string }[] {
  const choices = Object.entries(MODES).map(([id, [name, description]]) => ({ id, name, description }));
  if (current in MODES) return choices;
  return [...choices, { id: current, name: current, description: "Set elsewhere." }];
}
