/** Models of providers for Capstan. */

export { anthropic, anthropicFrom, type AnthropicOptions, type ApiKey } from "./anthropic.ts";
export { fetchTransport } from "./fetch-transport.ts";
export type { Price } from "./price.ts";
export { resolveModel } from "./resolve-model.ts";
export {
  IDLE_TIMEOUT_MS,
  nodeTransport,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from "./transport.ts";
