/** A model behind HTTP: what a provider's entry makes of its options, its encoder and its decoder. */

import type { Model, ModelCapabilities, ModelRequest, Price } from "@capstan/core";
import type { SseReader } from "../sse.ts";
import type { Endpoint } from "./endpoint.ts";
import { sseStream, type StreamDecoder, type ToError } from "./http-stream.ts";
import { tellingLeftOut } from "./left-out-files.ts";
import { priceOf } from "./prices.ts";

/** What every decoder is told. */
export type AnswerOptions = {
  /** The model that was asked. */
  readonly modelId: string;
  readonly price: Price | undefined;
  /** The typed error of an error inside the stream. */
  readonly toError: ToError;
};

export type HttpModelOptions = {
  readonly endpoint: Endpoint;
  readonly modelId: string;
  readonly capabilities: ModelCapabilities;
  /** Undefined: the published price, when it is known. */
  readonly price: Price | undefined;
  /** The provider under which prices are listed. Default: that of the endpoint. */
  readonly listedAs?: string;
  /** Media types that count as images. Default: those that most providers take. */
  readonly images?: readonly string[];
  readonly encode: (request: ModelRequest) => Promise<readonly string[]>;
  readonly decoder: (options: AnswerOptions) => StreamDecoder;
  readonly reader?: () => SseReader;
};

export function httpModel(options: HttpModelOptions): Model {
  const { endpoint, modelId, capabilities, encode, decoder, reader } = options;
  const { id } = endpoint.provider;
  const priceNow = async (): Promise<Price | undefined> => options.price ?? priceOf(options.listedAs ?? id, modelId);
  const model: Model = {
    id: `${id}/${modelId}`,
    capabilities,
    price: priceNow,
    stream(request) {
      let price: Price | undefined;
      const prepare = async (): Promise<readonly string[]> => {
        price = await priceNow(); // of this call: some depend on the hour
        return encode(request);
      };
      const decoderOf = (toError: ToError): StreamDecoder => decoder({ modelId, price, toError });
      return sseStream(endpoint, prepare, request.signal, decoderOf, reader);
    },
  };
  return tellingLeftOut(model, options.images);
}
