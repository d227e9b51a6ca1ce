/** Options of every provider over HTTP. A provider says again only where it has more to say. */

import type { Json, ModelCapabilities, Price } from "@capstan/core";
import type { Transport } from "../transport.ts";
import type { ApiKey } from "./credentials.ts";

export type ProviderOptions = {
  /** Default: the provider's variable. Not needed when `headers` hold the key. */
  readonly apiKey?: ApiKey;
  /** Default: the provider's variable, else its own address. */
  readonly baseUrl?: string;
  /** Sent with every request; they win over ours. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Merged into the body last, objects member by member at every depth; lists and everything else replace ours, and so does
   * an object of another `type`. `tools` stand behind the agent's own. Those of a request's settings win over these.
   */
  readonly extraBody?: Json;
  readonly transport?: Transport;
  /** Of one answer, thinking included, unless the request's settings say otherwise. Default: the provider's own limit. */
  readonly maxOutputTokens?: number;
  /** Merged over what is known about the model. */
  readonly capabilities?: ModelCapabilities;
  /** Default: the published price, when it is known. */
  readonly price?: Price;
};
