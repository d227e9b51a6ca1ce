/** Which requests to a service are allowed: a method and the path as it is written. Pure. */

import { CapstanError } from "@capstan/core";

/** `GET /repos/**`: `*` is one part of a path, `**` any number of characters; the method may be `*`. */
export type AllowedPath = { readonly method: string; readonly path: RegExp };

const FORM = /^(\*|[A-Z]+) (\/[!-~]*)$/;

/** Throws `config-invalid`. */
export function parseAllowed(text: string): AllowedPath {
  const [, method = "", path = ""] = FORM.exec(text) ?? [];
  if (method === "")
    throw new CapstanError("config-invalid", `${JSON.stringify(text)} is no method and path, such as "GET /repos/**"`);
  const source = path.replace(/\*\*|\*|[\\^$.+?()[\]{}|]/g, (found) =>
    found === "**" ? ".*" : found === "*" ? "[^/]+" : `\\${found}`,
  );
  return { method, path: new RegExp(`^${source}$`) };
}

/** `path` as the program wrote it, without the query. What GET may read, HEAD may ask about. */
export function isAllowed(allowed: readonly AllowedPath[], method: string, path: string): boolean {
  const meant = method === "HEAD" ? "GET" : method;
  return (
    isPlainPath(path) && allowed.some((one) => (one.method === "*" || one.method === meant) && one.path.test(path))
  );
}

/** Whether every server reads the path as it looks: nothing in it goes up, is empty, or hides behind an encoding. */
function isPlainPath(path: string): boolean {
  if (!/^\/[!-~]*$/.test(path) || /[\\#?]|\/\/|;/.test(path)) return false;
  return path.split("/").every((part) => {
    const read = decoded(part);
    if (read === undefined || /[\\\p{Cc}]/u.test(read) || /%[0-9a-f]{2}/i.test(read)) return false;
    return read.split("/").every((piece) => !/^\.{1,2}$/.test(piece.trim()));
  });
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
