/** HTML as plain text in one pass from left to right, however it is nested or broken; and how large its markup is. */

/** Elements whose content is not text, up to their closing tags. */
const SKIPPED = /^(?:script|style|noscript|template|svg|iframe|object)$/;
const BLOCKS =
  /^(?:address|article|aside|blockquote|br|dd|div|dl|dt|figure|footer|form|h[1-6]|header|hr|li|main|nav|ol|p|pre|section|table|tr|ul)$/;
const VOID = /^(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)$/;
const ENTITIES: { readonly [name: string]: string } = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

/** Tags, and how deep they lie at most, as far as text tells. */
export function markupSize(html: string): { readonly tags: number; readonly depth: number } {
  let tags = 0;
  let depth = 0;
  let deepest = 0;
  for (const { name, closes } of tagsOf(html)) {
    tags += 1;
    if (VOID.test(name)) continue;
    depth = Math.max(0, depth + (closes ? -1 : 1));
    deepest = Math.max(deepest, depth);
  }
  return { tags, depth: deepest };
}

export function plainText(html: string): string {
  const pieces: string[] = [];
  let from = 0;
  for (const { name, start, end } of tagsOf(html)) {
    pieces.push(html.slice(from, start), BLOCKS.test(name) ? "\n" : "");
    from = end;
  }
  pieces.push(html.slice(from));
  return decoded(pieces.join(""))
    .replace(/[^\S\n]+/g, " ")
    .replace(/ ?\n ?/g, "\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}

/** What its `title` says, as plain text. */
export function titleOf(html: string): string {
  return plainText(/<title[^>]{0,200}>([^<]{0,1000})/i.exec(html)?.[1] ?? "");
}

/** `end` lies behind what is skipped. */
type Tag = { readonly name: string; readonly closes: boolean; readonly start: number; readonly end: number };

function* tagsOf(html: string): Generator<Tag> {
  const opening = /<(?:!--|(\/?)([a-zA-Z][a-zA-Z0-9:-]{0,63})|[!?])/g;
  const unclosed = new Set<string>(); // looked for once: else many of them would take the square of their number
  for (let found = opening.exec(html); found !== null; found = opening.exec(html)) {
    const [whole, slash = "", written = ""] = found;
    const name = written.toLowerCase();
    const isComment = whole === "<!--";
    const close = html.indexOf(isComment ? "-->" : ">", opening.lastIndex);
    let end = close < 0 ? html.length : close + (isComment ? 3 : 1);
    if (slash === "" && SKIPPED.test(name) && !unclosed.has(name)) {
      const closing = new RegExp(`</${name}`, "gi");
      closing.lastIndex = end;
      const at = closing.exec(html)?.index;
      if (at === undefined) unclosed.add(name);
      else end = at;
    }
    opening.lastIndex = end;
    yield { name, closes: slash !== "", start: found.index, end };
  }
}

function decoded(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,8}));/g, (whole, decimal, hex, name) => {
    if (name !== undefined) return ENTITIES[String(name).toLowerCase()] ?? whole;
    const code = decimal === undefined ? Number.parseInt(String(hex), 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : "";
  });
}
