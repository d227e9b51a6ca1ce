/** The part of `@opentelemetry/api` that is used, by shape: the program that has an SDK hands its own API in. */

export type Attributes = { [name: string]: string | number | boolean | string[] };
export type SpanContext = { traceId: string; spanId: string; traceFlags: number; isRemote?: boolean };
/** Immutable; only handed on. */
export type OtelContext = {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): OtelContext;
  deleteValue(key: symbol): OtelContext;
};
export type SpanOptions = {
  kind: number;
  attributes: Attributes;
  links: { context: SpanContext }[];
  startTime: number;
};

/** Times are milliseconds since 1970. */
export interface OtelSpan {
  spanContext(): SpanContext;
  setAttributes(attributes: Attributes): unknown;
  addEvent(name: string, attributes: Attributes, time: number): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  end(time?: number): void;
}
export interface OtelTracer {
  startSpan(name: string, options: SpanOptions, context: OtelContext): OtelSpan;
}
export interface OtelProvider {
  getTracer(name: string): OtelTracer;
}
/** `import * as api from "@opentelemetry/api"` fits. */
export interface OtelApi {
  readonly ROOT_CONTEXT: OtelContext;
  readonly trace: OtelProvider & { setSpanContext(context: OtelContext, spanContext: SpanContext): OtelContext };
}

/** `SpanKind` and `SpanStatusCode` of the API. */
export const KIND = { internal: 0, client: 2 } as const;
export const STATUS_ERROR = 2;

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** W3C Trace Context. Undefined for what is none, all zeroes included. */
export function parseTraceparent(text: string): SpanContext | undefined {
  const [, traceId = "", spanId = "", flags = "0"] = TRACEPARENT.exec(text) ?? [];
  if (!/[1-9a-f]/.test(traceId) || !/[1-9a-f]/.test(spanId) || text.startsWith("ff")) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

/** Undefined for a span that nobody records. */
export function toTraceparent({ traceId, spanId, traceFlags }: SpanContext): string | undefined {
  const text = `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, "0")}`;
  return parseTraceparent(text) === undefined ? undefined : text;
}
