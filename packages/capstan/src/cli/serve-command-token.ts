/** The token of `serve`: made once, kept in a file that only the user can read, compared without telling how far it fits. */

import { randomBytes, timingSafeEqual } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, link, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CapstanError, sha256 } from "@capstan/core";
import { homeFolders, makePrivateFolder } from "../home-folders.ts";

const BYTES = 32;
const LEAST_CHARS = 16;

export type ServeToken = { readonly token: string; readonly file: string };

/** `$CAPSTAN_TOKEN` counts before what is in the file. Throws `usage` for one that could be guessed. */
export async function serveToken(env: Readonly<Record<string, string | undefined>>): Promise<ServeToken> {
  const { data } = homeFolders(env);
  const file = join(data, "serve.token");
  const given = env["CAPSTAN_TOKEN"]?.trim() ?? "";
  if (given !== "") {
    if (given.length >= LEAST_CHARS) return { token: given, file: "$CAPSTAN_TOKEN" };
    throw new CapstanError("usage", `CAPSTAN_TOKEN must have at least ${LEAST_CHARS} characters`);
  }
  await makePrivateFolder(data);
  if (!existsSync(file)) await makeToken(file);
  await chmod(file, 0o600); // somebody may have opened it up
  const token = (await readFile(file, "utf8")).trim();
  if (token.length >= LEAST_CHARS) return { token, file };
  throw new CapstanError("usage", `${file} holds no token; delete it and start again`);
}

/** Whoever is first makes it, and nobody sees it half written. */
async function makeToken(file: string): Promise<void> {
  const draft = `${file}.${randomBytes(8).toString("hex")}`;
  await writeFile(draft, `${randomBytes(BYTES).toString("base64url")}\n`, { mode: 0o600, flag: "wx" });
  try {
    await link(draft, file);
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || error.code !== "EEXIST") throw error;
  } finally {
    await rm(draft);
  }
}

/** Whether the request brings the token, as a bearer. */
export function brings(token: string): (request: Request) => boolean {
  const expected = Buffer.from(sha256(token));
  return (request) => {
    const [, given = ""] = /^Bearer +(\S+) *$/i.exec(request.headers.get("authorization") ?? "") ?? [];
    return timingSafeEqual(Buffer.from(sha256(given)), expected);
  };
}
