/** The model port: one provider call as a stream of events. */

import type { TurnReason } from "../words/event.ts";
import type { Json } from "../words/json.ts";
import type { Message, Part, Seal, Usage } from "../words/message.ts";

/**
 * One provider call. Batches hold the events of one network chunk. A stream that ends without `finish` was cut.
 * Throws `CapstanError` with a `model-*` code for what the provider refused; stops and throws `signal.reason` on abort.
 */
export interface Model {
  /** `provider/name`, recorded with every turn. */
  readonly id: string;
  readonly capabilities: ModelCapabilities;
  /** What tokens cost, when it is known: without it no limit of money can be kept. */
  price?(): Price | undefined | Promise<Price | undefined>;
  stream(request: ModelRequest): AsyncIterable<readonly ModelEvent[]>;
}

/** US dollars per million tokens, which is micro-dollars per token. */
export type Price = {
  readonly input: number;
  readonly output: number;
  /** Tokens read from a prompt cache. Default: as `input`. */
  readonly cacheRead?: number;
  /** Tokens written to a prompt cache. Default: as `input`. */
  readonly cacheWrite?: number;
  /** Prices of a whole request whose prompt is longer than `overTokens`. */
  readonly long?: Omit<Price, "long"> & { readonly overTokens: number };
};

export type ModelCapabilities = {
  readonly contextTokens?: number;
  readonly images?: boolean;
  /** Media types taken as files beside images. */
  readonly files?: readonly string[];
  readonly imageInToolResult?: boolean;
  readonly reasoning?: boolean;
  readonly structured?: boolean;
  readonly cacheMarkers?: boolean;
};

/** `index` names a block of the message in its order. `block-end` carries the whole part, parsed and sealed. */
export type ModelEvent =
  | { readonly type: "start"; readonly model: string; readonly responseId?: string }
  | {
      readonly type: "block-start";
      readonly index: number;
      readonly block:
        | { readonly type: "text" | "reasoning" }
        | { readonly type: "tool-input"; readonly name: string; readonly seal?: Seal };
    }
  | { readonly type: "block-delta"; readonly index: number; readonly delta: string }
  | { readonly type: "block-end"; readonly index: number; readonly part: Part }
  | { readonly type: "finish"; readonly reason: TurnReason; readonly rawReason?: string; readonly usage: Usage }
  /** Something people should hear of that changes nothing in the answer: another model took over, a file was left out. */
  | { readonly type: "notice"; readonly code: string; readonly title: string; readonly detail?: string };

export type ToolSpec = { readonly name: string; readonly description: string; readonly inputSchema: Json };

export type ModelSettings = {
  /** Of one answer, thinking included. What a budget sets aside: an adapter asks for no more. */
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly reasoning?: "off" | "low" | "medium" | "high" | "adaptive" | { readonly budgetTokens: number };
  readonly toolChoice?: "auto" | "required" | { readonly tool: string };
  readonly parallel?: boolean;
  readonly outputSchema?: Json;
  readonly extraBody?: Json;
};

export type ModelRequest = {
  /** The same string object from turn to turn while the prefix stands. */
  readonly system: string;
  /** The same array object from turn to turn while the prefix stands: adapters cache its encoding by identity. */
  readonly tools: readonly ToolSpec[];
  /** Message objects keep their identity from turn to turn. Results of calls are user messages of `tool-result` parts. */
  readonly messages: readonly Message[];
  readonly settings: ModelSettings;
  /** Indexes of messages after which a cache breakpoint stands; -1 = after system and tools. */
  readonly cache: readonly number[];
  readonly sessionId: string;
  readonly signal: AbortSignal;
  /** Bytes of a blob that a part names. */
  readonly blob: (hash: string) => Promise<Uint8Array>;
};
