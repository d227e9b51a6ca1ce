/** One JSON request to an embedding server: bounded in time and bytes, its failures as ours. */

import { CapstanError, messageOf } from "@capstan/core";
import { MEMORY_LIMITS as LIMITS } from "./limits.ts";

export type JsonRequest = {
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: object;
  /** For messages. */
  readonly of: string;
  readonly signal: AbortSignal;
};

/** Throws `model-network`, `model-timeout`, `model-auth`, `model-not-found`, `model-failed` or `model-protocol`, and the signal's reason. */
export async function postJson({ url, headers, body, of, signal }: JsonRequest): Promise<unknown> {
  const limit = AbortSignal.timeout(LIMITS.embedMs);
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json", ...headers },
      body: JSON.stringify(body),
      redirect: "error", // a key goes to the server that was named
      signal: AbortSignal.any([signal, limit]),
    });
    const text = await boundedText(response, of);
    if (!response.ok) throw refused(response.status, of, text);
    return JSON.parse(text) as unknown;
  } catch (error) {
    signal.throwIfAborted();
    if (CapstanError.is(error)) throw error;
    if (limit.aborted)
      throw new CapstanError("model-timeout", `${of} took longer than ${LIMITS.embedMs} ms`, { retryable: true });
    if (error instanceof SyntaxError)
      throw new CapstanError("model-protocol", `${of} answered something that is not JSON`);
    const why = error instanceof Error && error.cause instanceof Error ? error.cause.message : messageOf(error);
    throw new CapstanError("model-network", `${of} cannot be reached: ${why}`, { cause: error, retryable: true });
  }
}

async function boundedText(response: Response, of: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > LIMITS.embedAnswerBytes)
      throw new CapstanError("model-protocol", `${of} answered more than ${LIMITS.embedAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Characters of a server's own words that are shown. */
const SAID = 200;

function refused(status: number, of: string, text: string): CapstanError {
  const code = status === 401 || status === 403 ? "model-auth" : status === 404 ? "model-not-found" : "model-failed";
  const said = text
    .slice(0, SAID)
    .toWellFormed()
    .replaceAll(/\p{C}+/gu, " ");
  const message = `${of} answered with status ${status}${said.trim() === "" ? "" : `: ${said}`}`;
  return new CapstanError(code, message, { status, retryable: status === 429 || status >= 500 });
}
