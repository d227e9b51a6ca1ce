/** The prompt of `capstan run`: an argument, or standard input when that is no terminal. */

import { CapstanError, LIMITS } from "@capstan/core";
import { usage } from "./failure.ts";

type Source = AsyncIterable<Uint8Array> & { readonly isTTY?: boolean };

/** Throws `usage` without a prompt, `input-invalid` for what is no text, `input-too-large` beyond `LIMITS.inputBytes`. */
export async function readPrompt(given: string | undefined, input: Source): Promise<string> {
  if (given !== undefined) {
    if (given.trim() === "") throw usage('The prompt is empty; say what is to be done: capstan run "..."');
    return given;
  }
  if (input.isTTY === true) throw usage('There is no prompt; give one, capstan run "...", or pipe it in');
  const text = decode(await readAll(input));
  if (text.trim() === "") throw usage("Standard input holds no prompt; pipe one in or give it as an argument");
  return text;
}

async function readAll(input: Source): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of input) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > LIMITS.inputBytes) {
      const message = `The prompt on standard input is longer than ${LIMITS.inputBytes} bytes; put it into a file and name the file`;
      throw new CapstanError("input-too-large", message);
    }
  }
  return Buffer.concat(chunks);
}

function decode(bytes: Buffer): string {
  const problem = (what: string): CapstanError =>
    new CapstanError("input-invalid", `The prompt on standard input ${what}; pipe UTF-8 text in`);
  if (bytes.includes(0)) throw problem("is binary");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw problem("is not UTF-8 text");
  }
}
