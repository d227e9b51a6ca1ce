/** Search services over HTTP: Brave, Tavily, and SearXNG on a host of one's own. */

import { CapstanError } from "@capstan/core";
import { z } from "zod";
import { boundedBody, KNOWN_ENCODINGS } from "../egress/bounded-body.ts";
import { EgressFailure, guardedRequest } from "../egress/guarded-request.ts";
import { WEB_LIMITS as LIMITS } from "./limits.ts";
import { plainText } from "./plain-text.ts";
import type { SearchOptions, SearchResult, SearchService } from "./web-search.ts";

export type SearchKey = {
  /** Default: the environment variable named with the service. */
  readonly apiKey?: string;
  /** Another place that speaks the same protocol. */
  readonly url?: string;
};

const word = z.string().max(100_000).nullish();
const resultsOf = <Row extends z.ZodType>(row: Row) => z.array(row).max(1_000).nullish();
const braveSchema = z.object({
  web: z.object({ results: resultsOf(z.object({ title: word, url: z.string(), description: word })) }).nullish(),
});
const otherSchema = z.object({ results: resultsOf(z.object({ title: word, url: z.string(), content: word })) });

/** Brave Search API, `GET /res/v1/web/search`. Key: `BRAVE_API_KEY`. Throws `config-invalid` without one. */
export function braveSearch({
  apiKey,
  url = "https://api.search.brave.com/res/v1/web/search",
}: SearchKey = {}): SearchService {
  const key = keyOf("Brave", "BRAVE_API_KEY", apiKey);
  return {
    name: "Brave",
    url,
    async search(query, options) {
      const asked = withQuery(url, { q: query, count: String(options.count) });
      const found = await answerOf(braveSchema, asked, { "x-subscription-token": key }, options);
      return (found.web?.results ?? []).map((row) => toResult(row.title, row.url, row.description));
    },
  };
}

/** Tavily, `POST /search`. Key: `TAVILY_API_KEY`. Throws `config-invalid` without one. */
export function tavilySearch({ apiKey, url = "https://api.tavily.com/search" }: SearchKey = {}): SearchService {
  const key = keyOf("Tavily", "TAVILY_API_KEY", apiKey);
  return {
    name: "Tavily",
    url,
    async search(query, options) {
      const body = JSON.stringify({ query, max_results: options.count });
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const found = await answerOf(otherSchema, new URL(url), headers, { ...options, body });
      return (found.results ?? []).map((row) => toResult(row.title, row.url, row.content));
    },
  };
}

/** A SearXNG instance whose settings allow the format `json`; `url` is its base. Needs no key. */
export function searxngSearch({ url }: { readonly url: string }): SearchService {
  if (!URL.canParse(url)) throw new CapstanError("config-invalid", "searxngSearch needs the address of an instance");
  const endpoint = new URL("search", url.endsWith("/") ? url : `${url}/`).href;
  return {
    name: "SearXNG",
    url: endpoint,
    async search(query, options) {
      const asked = withQuery(endpoint, { q: query, format: "json" });
      const found = await answerOf(otherSchema, asked, {}, options);
      return (found.results ?? []).map((row) => toResult(row.title, row.url, row.content));
    },
  };
}

function keyOf(service: string, variable: string, given: string | undefined): string {
  const key = given ?? process.env[variable] ?? "";
  if (key !== "") return key;
  throw new CapstanError("config-invalid", `${service} needs a key: set ${variable}, or give apiKey`);
}

function withQuery(address: string, query: { readonly [name: string]: string }): URL {
  const url = new URL(address);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}

type Asking = SearchOptions & { readonly body?: string };

/** The address is the operator's own word, so it may be anywhere; a redirect is not followed, as it would take the key along. */
async function answerOf<T>(
  schema: z.ZodType<T>,
  url: URL,
  headers: Readonly<Record<string, string>>,
  { body, signal }: Asking,
): Promise<T> {
  const answer = await guardedRequest({
    method: body === undefined ? "GET" : "POST",
    url,
    headers: { accept: "application/json", "accept-encoding": KNOWN_ENCODINGS, "user-agent": "Capstan", ...headers },
    ...(body !== undefined && { body }),
    idleMs: LIMITS.totalMs,
    refused: () => undefined,
    signal,
  });
  const { statusCode: status = 0 } = answer;
  if (status !== 200) {
    answer.destroy();
    const why =
      status === 401 || status === 403 ? " (is its key right?)" : status === 429 ? " (it was asked too often)" : "";
    throw new EgressFailure(`${url.host} answered with status ${status}${why}`);
  }
  const { bytes, cut } = await boundedBody(answer, { url, maxBytes: LIMITS.searchBytes, signal });
  const checked = cut ? undefined : schema.safeParse(parsed(bytes));
  if (checked?.success === true) return checked.data;
  throw new EgressFailure(`${url.host} answered with something that is no list of results`);
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString()) as unknown;
  } catch {
    return undefined;
  }
}

/** Services mark what was found with tags. */
function toResult(title: string | null | undefined, url: string, snippet: string | null | undefined): SearchResult {
  return { title: plainText(title ?? ""), url, snippet: plainText(snippet ?? "") };
}
