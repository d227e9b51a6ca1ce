/** The HTTP door described as OpenAPI 3.1, made of its routes. */

import { z } from "zod";
import type { Route } from "./route.ts";

export function openApi(routes: readonly Route[], basePath: string): object {
  const paths: { [path: string]: { [method: string]: object } } = {};
  for (const route of routes) {
    const path = `${basePath}${route.path.replaceAll(/:(\w+)/g, "{$1}")}`;
    paths[path] = { ...paths[path], [route.method]: operationOf(route) };
  }
  return {
    openapi: "3.1.0",
    info: { title: "Capstan", version: "1" },
    components: { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
    security: [{ bearer: [] }],
    paths,
  };
}

function operationOf({ path, summary, query = [], body, streams, method }: Route): object {
  const inPath = Array.from(path.matchAll(/:(\w+)/g), ([, name = ""]) => parameter(name, "path"));
  const parameters = [...inPath, ...query.map((name) => parameter(name, "query"))];
  const content = body === undefined ? undefined : { "application/json": { schema: z.toJSONSchema(body) } };
  const type = streams === true ? "text/event-stream" : "application/json";
  return {
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(content !== undefined && method !== "get" && { requestBody: { required: true, content } }),
    responses: {
      "2XX": { description: "Done", content: { [type]: {} } },
      default: { description: "{ error: { code, message, retryable } }", content: { "application/json": {} } },
    },
  };
}

function parameter(name: string, where: "path" | "query"): object {
  return { name, in: where, required: where === "path", schema: { type: "string" } };
}
