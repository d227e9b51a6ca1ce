/** The body of a request as JSON: bounded in size, depth and time, and checked. */

import { CapstanError, type Clock } from "@capstan/core";
import { parseJson } from "@capstan/wire";
import type { ZodType } from "zod";
import { SERVER_LIMITS } from "../server-limits.ts";
import type { BodyShare } from "./body-budget.ts";
import { inTime } from "./caller.ts";

export type BodyOptions = { readonly clock: Clock; readonly share: BodyShare };

/** An empty body is an empty object. Throws `input-invalid`, `input-too-large`, `limit-reached` and `timeout`. */
export async function readBody<T>(request: Request, schema: ZodType<T>, { clock, share }: BodyOptions): Promise<T> {
  const text = await inTime(clock, SERVER_LIMITS.bodyMs, "The body of the request", () => readText(request, share));
  if (text !== "" && !isJson(request))
    throw new CapstanError("input-invalid", "The body must be JSON: send content-type: application/json");
  const parsed = schema.safeParse(text === "" ? {} : parseJson(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = issue?.path.map(String).join(".") ?? "";
  throw new CapstanError(
    "input-invalid",
    `The body does not fit${path && ` at ${path.slice(0, 200)}`}: ${issue?.message}`,
  );
}

/** A page of elsewhere can send every other type without being asked first. */
function isJson(request: Request): boolean {
  return /^application\/json\s*(;|$)/i.test(request.headers.get("content-type") ?? "");
}

async function readText(request: Request, share: BodyShare): Promise<string> {
  if (Number(request.headers.get("content-length") ?? 0) > SERVER_LIMITS.bodyBytes) throw tooLarge();
  if (request.body === null) return "";
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of request.body as unknown as AsyncIterable<Uint8Array>) {
      size += piece.length;
      if (size > SERVER_LIMITS.bodyBytes) throw tooLarge();
      share.take(piece.length);
      pieces.push(piece);
    }
  } catch (cause) {
    if (CapstanError.is(cause)) throw cause;
    throw new CapstanError("aborted", "The body of the request broke off", { cause });
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(pieces)).trim();
  } catch (cause) {
    throw new CapstanError("input-invalid", "The body is no UTF-8 text", { cause });
  }
}

function tooLarge(): CapstanError {
  return new CapstanError("input-too-large", `A body has at most ${SERVER_LIMITS.bodyBytes} bytes`);
}
