/** Models of providers for Capstan. */

export { anthropic, anthropicFrom, type AnthropicOptions } from "./anthropic.ts";
export { fetchTransport } from "./fetch-transport.ts";
export type { Price } from "./price.ts";
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
