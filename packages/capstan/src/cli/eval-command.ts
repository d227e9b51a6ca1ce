/** `capstan eval`: runs the evaluation of a module and ends with 1 when a threshold is missed. Naming the module is the decision to trust it. */

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { CapstanError, messageOf } from "@capstan/core";
import { type EvalItem, type Evaluation, evalText, evaluate, readDataset } from "@capstan/core/testing";
import { EXIT } from "./failure.ts";
import { inert, inertLine } from "./inert.ts";
import { screen as newScreen } from "./screen.ts";

export type EvalFlags = {
  readonly dataset?: string;
  readonly limit?: number;
  readonly concurrency?: number;
  readonly json?: boolean;
};

export async function evalCommand(file: string, { dataset, limit, concurrency, json }: EvalFlags): Promise<number> {
  const screen = newScreen();
  const found = await load(resolve(file));
  const stop = new AbortController();
  const onSignal = (): void => stop.abort(new CapstanError("interrupted", "The evaluation was interrupted"));
  process.once("SIGINT", onSignal);
  process.once("SIGTERM", onSignal);
  try {
    const changed = {
      ...found,
      dataset: await itemsOf(found, dataset, limit),
      ...(concurrency !== undefined && { concurrency }),
    };
    const report = await evaluate(changed, {
      signal: stop.signal,
      onItem: ({ id, error }) =>
        screen.note(`${inertLine(id, 80)}${error === undefined ? "" : `: ${inertLine(error)}`}`, "dim"),
    });
    if (json === true) screen.data(JSON.stringify(report));
    else for (const line of inert(evalText(report)).split("\n")) screen.data(line);
    await screen.flush();
    return report.ok && !screen.failed ? EXIT.done : EXIT.failed;
  } finally {
    process.off("SIGINT", onSignal);
    process.off("SIGTERM", onSignal);
  }
}

async function itemsOf(found: Evaluation, file: string | undefined, limit = Infinity): Promise<readonly EvalItem[]> {
  const given = file ?? found.dataset;
  try {
    return (typeof given === "string" ? await readDataset(given) : given).slice(0, limit);
  } catch (error) {
    await found.close?.(); // nothing else will
    throw error;
  }
}

async function load(path: string): Promise<Evaluation> {
  let module: { readonly default?: unknown };
  try {
    module = (await import(pathToFileURL(path).href)) as { readonly default?: unknown };
  } catch (cause) {
    const [said = ""] = messageOf(cause).split("\n", 1);
    throw new CapstanError("config-invalid", `${path}: ${said}`, { cause });
  }
  const found = module.default;
  if (typeof found === "object" && found !== null && "type" in found && found.type === "evaluation")
    return found as Evaluation; // made by `evaluation`
  throw new CapstanError("config-invalid", `${path}: it needs "export default evaluation({ ... })"`);
}
