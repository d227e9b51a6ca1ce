/** @capstan/tools/web: pages and search results of the web as tools. */

import type { Tool } from "@capstan/core";
import { webFetchTool, type WebFetchOptions } from "./web-fetch.ts";
import { type SearchService, webSearchTool } from "./web-search.ts";

export { braveSearch, searxngSearch, tavilySearch, type SearchKey } from "./search-services.ts";
export type { SearchOptions, SearchResult, SearchService } from "./web-search.ts";
export { WEB_LIMITS } from "./limits.ts";
export type { WebFetchOptions } from "./web-fetch.ts";

export type WebOptions = WebFetchOptions & {
  /** Without one there is no `web_search`. */
  readonly search?: SearchService;
};

/** `web_fetch`, and `web_search` when a service is given. Both ask unless a rule allows them. */
export function webTools({ search, ...options }: WebOptions = {}): Tool[] {
  return [webFetchTool(options), ...(search === undefined ? [] : [webSearchTool(search)])];
}
