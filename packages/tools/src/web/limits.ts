/** Every limit of the web tools as a constant, with its unit in its name. */

export const WEB_LIMITS = {
  /** UTF-16 units of an address as a model wrote it. */
  urlCharacters: 4_096,
  /** Redirects of one fetch that are followed. */
  redirects: 5,
  /** Bytes of one page, unpacked; what comes after is not read. */
  pageBytes: 5_242_880,
  /** Longest silence of a server, and the whole time of one fetch or search with all its redirects. */
  idleMs: 10_000,
  totalMs: 30_000,
  /** UTF-16 units of HTML, tags and depth of tags beyond which a page is read as plain text only. */
  markupCharacters: 2_000_000,
  markupTags: 40_000,
  markupDepth: 400,
  /** Elements and depth beyond which the article of a page is not looked for. */
  articleElements: 3_000,
  articleDepth: 100,
  /** UTF-16 units of text that an article has at least; a shorter one is not taken for the page. */
  articleCharacters: 400,
  /** Time and memory that a page may take to become Markdown; then it is read as plain text. */
  markdownMs: 10_000,
  markdownMegabytes: 256,
  /** UTF-16 units of such a page that are still read. */
  rescuedCharacters: 500_000,
  /** UTF-16 units of a page shown at once unless told otherwise, and at most. */
  shownCharacters: 20_000,
  maxShownCharacters: 100_000,
  /** Pages kept to go on reading, and UTF-16 units of all of them. */
  keptPages: 16,
  keptCharacters: 8_388_608,
  /** Results of one search unless told otherwise, and at most. */
  searchResults: 8,
  maxSearchResults: 20,
  /** Bytes of the answer of a search service. */
  searchBytes: 2_097_152,
  /** UTF-16 units of a query, and of a title and a snippet of a result. */
  queryCharacters: 400,
  titleCharacters: 300,
  snippetCharacters: 1_000,
} as const;
