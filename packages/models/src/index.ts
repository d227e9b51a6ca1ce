/** Choosing models: by name, by what is usable here, several as one. Each provider has an entry of its own. */

export type { Price } from "@capstan/core";
export { type CatalogModel, type CatalogOptions, usableModels } from "./catalog.ts";
export { deferredModel, type DeferredOptions } from "./deferred-model.ts";
export { fallback } from "./fallback.ts";
export { fetchTransport } from "./fetch-transport.ts";
export {
  type ApiKey,
  oauth,
  type OAuthOptions,
  type OAuthRefreshed,
  type OAuthTokens,
} from "./provider/credentials.ts";
export { resolveModel } from "./resolve-model.ts";
export {
  IDLE_TIMEOUT_MS,
  nodeTransport,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from "./transport.ts";
export { withSettings } from "./with-settings.ts";
