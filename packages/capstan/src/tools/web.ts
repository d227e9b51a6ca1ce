/** capstan/tools/web: pages and search results of the web as tools. */

export { braveSearch, searxngSearch, tavilySearch, WEB_LIMITS, webTools } from "@capstan/tools/web";
export type {
  SearchKey,
  SearchOptions,
  SearchResult,
  SearchService,
  WebFetchOptions,
  WebOptions,
} from "@capstan/tools/web";
