/** Where a link out of somebody else's text may lead. */

const PROTOCOLS = new Set(["http:", "https:", "mailto:"]);

/** Only whole addresses: a relative one would be a place of this console. */
export function isSafeUrl(url: string | undefined): url is string {
  return url !== undefined && URL.canParse(url) && PROTOCOLS.has(new URL(url).protocol);
}
