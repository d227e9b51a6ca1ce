/** capstan/models: choosing models: by name, by what is usable here, several as one. Providers have entries of their own. */

export {
  deferredModel,
  fallback,
  fetchTransport,
  nodeTransport,
  oauth,
  resolveModel,
  usableModels,
  withSettings,
} from "@capstan/models";
export type {
  ApiKey,
  CatalogModel,
  CatalogOptions,
  DeferredOptions,
  OAuthOptions,
  OAuthRefreshed,
  OAuthTokens,
  Price,
  Transport,
  TransportRequest,
  TransportResponse,
} from "@capstan/models";
