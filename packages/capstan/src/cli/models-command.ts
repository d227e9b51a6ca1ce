/** `capstan models`: which models can be used here, and what is missing for the others. */

import type { CatalogModel } from "@capstan/models";
import { EXIT } from "./failure.ts";
import { inertLine } from "./inert.ts";
import { screen as newScreen } from "./screen.ts";
import { tableLines } from "./table-lines.ts";

/** Asks no provider: only servers on this machine are looked for. */
export async function modelsCommand({ json = false }: { readonly json?: boolean }): Promise<number> {
  const { usableModels } = await import("@capstan/models");
  const screen = newScreen();
  const models = await usableModels();
  if (json) for (const model of models) screen.data(JSON.stringify(model));
  else for (const line of table(models)) screen.data(line);
  await screen.flush();
  return screen.failed ? EXIT.failed : EXIT.done;
}

/** What can be used comes first. */
function table(models: readonly CatalogModel[]): readonly string[] {
  const rows = models
    .toSorted((a, b) => Number(b.usable) - Number(a.usable))
    .map((model) => [
      inertLine(model.model ?? `${model.provider}/...`, 60),
      model.key.replace("-", " "),
      contextOf(model),
      priceOf(model),
      abilitiesOf(model),
      inertLine(model.problem ?? "", 120),
    ]);
  return tableLines([["MODEL", "KEY", "CONTEXT", "$ PER MILLION", "TAKES", "MISSING"], ...rows]);
}

function contextOf({ contextTokens }: CatalogModel): string {
  if (contextTokens === undefined) return "";
  return contextTokens >= 1_000_000
    ? `${Number((contextTokens / 1_000_000).toFixed(2))}M`
    : `${Math.round(contextTokens / 1_000)}k`;
}

/** Input and output; a `+` when long prompts cost more. */
function priceOf({ price }: CatalogModel): string {
  if (price === undefined) return "";
  if (price.input === 0 && price.output === 0) return "free";
  return `${price.input} / ${price.output}${price.long === undefined ? "" : " +"}`;
}

function abilitiesOf({ capabilities }: CatalogModel): string {
  const { images, files = [], structured, reasoning } = capabilities;
  return [
    images === true ? "images" : [],
    files.includes("application/pdf") ? "pdf" : [],
    structured === true ? "schema" : [],
    reasoning === true ? "reasoning" : [],
  ]
    .flat()
    .join(" ");
}
