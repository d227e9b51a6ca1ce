/** The files of the console as answers of an HTTP door: known files only, under a policy that lets nothing else in. */

import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

export type ConsoleOptions = {
  /** Where the routes of the door begin, as `httpHandler` is told. The console lies in `console/` below. Default the root. */
  readonly basePath?: string;
  /** The built files. Default those of this package. */
  readonly folder?: string;
};
/** Answers what the console is asked for and `undefined` for everything else. Needs no token: the files hold no secret. */
export type ConsolePages = (request: Request) => Promise<Response | undefined>;

type Page = { readonly bytes: Uint8Array<ArrayBuffer>; readonly type: string; readonly etag: string };
type Builder = { readonly builtFromSource: () => Promise<string> };

const TYPES: { readonly [extension: string]: string } = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");
const HEADERS: { readonly [name: string]: string } = {
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

export function consolePages({ basePath = "", folder }: ConsoleOptions = {}): ConsolePages {
  const base = `/${basePath}`.replaceAll(/\/+/g, "/").replace(/\/$/, "");
  const at = `${base}/console/`;
  let pages: Promise<ReadonlyMap<string, Page>> | undefined;
  return async (request) => {
    if (request.method !== "GET") return undefined;
    const { pathname } = new URL(request.url);
    if (`${pathname}/` === at || (pathname === `${base}/` && asksForPage(request))) return moved(at);
    if (!pathname.startsWith(at)) return undefined;
    pages ??= readPages(folder).catch((error: unknown) => {
      pages = undefined; // the next request tries again
      throw error;
    });
    const name = pathname.slice(at.length);
    const page = (await pages).get(name === "" ? "index.html" : name);
    if (page === undefined) return new Response("There is no such file\n", { status: 404, headers: HEADERS });
    return answer(request, page, name.startsWith("assets/"));
  };
}

/** Somebody's browser at the root, not a program at a route. */
function asksForPage(request: Request): boolean {
  return request.headers.get("accept")?.includes("text/html") === true;
}

function moved(to: string): Response {
  return new Response(null, { status: 302, headers: { ...HEADERS, location: to, "cache-control": "no-store" } });
}

/** Names in `assets/` carry the hash of what is in them. */
function answer(request: Request, { bytes, type, etag }: Page, forever: boolean): Response {
  const cached = forever ? "public, max-age=31536000, immutable" : "no-cache";
  const headers = { ...HEADERS, etag, "content-type": type, "cache-control": cached };
  if (request.headers.get("if-none-match") === etag) return new Response(null, { status: 304, headers });
  return new Response(bytes, { headers });
}

async function readPages(given: string | undefined): Promise<ReadonlyMap<string, Page>> {
  const folder = given ?? (await builtFolder());
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    await Promise.all(
      files.map(async (file) => {
        const bytes = new Uint8Array(await readFile(file));
        const etag = `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
        const type = TYPES[extname(file)] ?? "application/octet-stream";
        return [relative(folder, file).split(sep).join("/"), { bytes, type, etag }] as const;
      }),
    ),
  );
}

/** Beside the built code; from source they are built when somebody asks for them. */
async function builtFolder(): Promise<string> {
  if (!import.meta.url.endsWith(".ts")) return fileURLToPath(new URL("./web", import.meta.url));
  const builder = new URL("../web/build.ts", import.meta.url).href; // not part of what is published
  return ((await import(builder)) as Builder).builtFromSource();
}
