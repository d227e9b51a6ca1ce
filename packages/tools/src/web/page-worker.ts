/** Reads one HTML page as Markdown, in a thread of its own: a hostile page may take all its time and memory. */

import { parentPort, workerData } from "node:worker_threads";
import { Readability } from "@mozilla/readability";
import { parseHTML } from "linkedom";
import TurndownService from "turndown";
import { WEB_LIMITS as LIMITS } from "./limits.ts";
import { markupSize, plainText, titleOf } from "./plain-text.ts";

/** What the thread is given, and what it answers. */
export type PageTask = {
  readonly html: string;
  /** What relative links are relative to. */
  readonly url: string;
  /** Takes everything on the page, not just its article. */
  readonly whole: boolean;
};
export type PageMarkdown = {
  readonly title: string;
  readonly markdown: string;
  /** Its structure was too much or not usable: it is plain text. */
  readonly plain: boolean;
};

/** The part of a document that is used; its library's own types need those of a browser. */
type Parsed = {
  readonly title: string;
  readonly body: Element;
  querySelectorAll(selector: string): Iterable<Element> & { readonly length: number };
};
type Element = {
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
};

/** Never of use to a reader. */
const NOISE = ["script", "style", "noscript", "template", "iframe", "object", "svg", "canvas", "button"];
/** What surrounds the text of a page. */
const FRAME = ["nav", "header", "footer", "aside"];

function read(task: PageTask): PageMarkdown {
  const { html } = task;
  const { tags, depth } = markupSize(html);
  const fits = html.length <= LIMITS.markupCharacters && tags <= LIMITS.markupTags && depth <= LIMITS.markupDepth;
  const made = fits ? toMarkdown(task, depth <= LIMITS.articleDepth) : undefined;
  return made ?? { title: titleOf(html), markdown: plainText(html), plain: true };
}

/** Undefined when nothing comes of it. */
function toMarkdown({ html, url, whole }: PageTask, mayHaveArticle: boolean): PageMarkdown | undefined {
  const page = parsed(html);
  const [base] = page.querySelectorAll("base[href]");
  const href = base?.getAttribute("href") ?? "";
  const service = new TurndownService({ headingStyle: "atx", codeBlockStyle: "fenced", bulletListMarker: "-" });
  service.remove(whole ? NOISE : [...NOISE, ...FRAME]);
  const article = whole || !mayHaveArticle ? undefined : articleOf(html, page);
  const source = article === undefined ? page : parsed(article);
  resolveLinks(source, URL.canParse(href, url) ? new URL(href, url).href : url);
  const markdown = service.turndown(source.body).trim();
  return markdown === "" ? undefined : { title: titleOf(html), markdown, plain: false };
}

function parsed(html: string): Parsed {
  const body = /<(?:html|body)[\s>]/i.test(html) ? html : `<body>${html}</body>`;
  const whole = /<html[\s>]/i.test(body) ? body : `<html>${body}</html>`;
  return parseHTML(whole).document as unknown as Parsed; // see the type
}

/** The HTML of the article, when the page has one that is long enough. */
function articleOf(html: string, page: Parsed): string | undefined {
  if (page.querySelectorAll("*").length > LIMITS.articleElements) return undefined;
  try {
    const found = new Readability(parsed(html) as never).parse(); // it takes the document of any library
    const isShort = (found?.textContent ?? "").trim().length < LIMITS.articleCharacters;
    return isShort ? undefined : (found?.content ?? undefined);
  } catch {
    return undefined; // a page that it cannot read is shown whole
  }
}

/** Links as absolute web addresses; others, such as scripts and embedded data, are dropped. */
function resolveLinks(page: Parsed, base: string): void {
  for (const [selector, name] of [
    ["a[href]", "href"],
    ["img[src]", "src"],
  ] as const)
    for (const element of page.querySelectorAll(selector)) {
      const target = element.getAttribute(name) ?? "";
      const url = URL.canParse(target, base) ? new URL(target, base) : undefined;
      if (url?.protocol === "http:" || url?.protocol === "https:") element.setAttribute(name, url.href);
      else element.removeAttribute(name);
    }
}

parentPort?.postMessage(read(workerData as PageTask)); // given by `pageMarkdown`
