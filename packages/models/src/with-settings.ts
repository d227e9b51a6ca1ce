/** A model with settings of its own beneath those of each request. */

import type { Model, ModelRequest, ModelSettings } from "@capstan/core";
import { merged as mergedBodies } from "./provider/extra-body.ts";
import { isObject } from "./provider/json.ts";

/**
 * A variant of a model that shares its key, its connections and what it has encoded; making one costs nothing. What an
 * agent, a `send` or a plugin sets wins over `settings`; `extraBody` is merged as everywhere.
 */
export function withSettings(model: Model, settings: ModelSettings): Model {
  return {
    id: model.id,
    capabilities: model.capabilities,
    ...(model.price !== undefined && { price: () => model.price?.() }),
    stream: (request) => model.stream({ ...request, settings: merged(settings, request.settings) }),
  };
}

function merged(under: ModelSettings, over: ModelRequest["settings"]): ModelSettings {
  const both = { ...under, ...over };
  if (!isObject(under.extraBody) || !isObject(over.extraBody)) return both;
  return { ...both, extraBody: mergedBodies(under.extraBody, over.extraBody) };
}
