/** Addresses as permission rules see them: a host, or an address whose path may hold `*`; decided on the parsed URL. */

type UrlPattern = {
  /** Undefined: any host. Starts with a dot: every name below it. */
  readonly host?: string;
  readonly port: string;
  readonly scheme?: string;
  /** Path and query, `*` for anything. */
  readonly path?: string;
};

/** Whether a rule that allows covers the address. Only http and https, without credentials, on the port it names. */
export function coversUrl(pattern: string, address: string): boolean {
  const wanted = parseUrlPattern(pattern);
  const url = parseUrl(address);
  if (wanted === undefined || url === undefined || url.username !== "" || url.password !== "") return false;
  if (wanted.scheme === undefined ? !["http:", "https:"].includes(url.protocol) : wanted.scheme !== url.protocol)
    return false;
  if (url.port !== wanted.port || !hostFits(wanted, url)) return false;
  return wanted.path === undefined || matchesText(wanted.path, url.pathname + url.search);
}

/** Whether a rule that forbids means the address: whatever its scheme and port, its path also decoded and in any case. */
export function forbidsUrl(pattern: string, address: string): "yes" | "maybe" | "no" {
  const wanted = parseUrlPattern(pattern);
  const url = parseUrl(address);
  if (wanted === undefined || url === undefined) return "maybe";
  if (!hostFits(wanted, url)) return "no";
  if (wanted.path === undefined) return "yes";
  const path = (url.pathname + url.search).toLowerCase();
  const spellings = [path, url.pathname.toLowerCase(), decoded(path)];
  return spellings.some((spelling) => matchesText(wanted.path?.toLowerCase() ?? "", spelling)) ? "yes" : "no";
}

/** The pattern an "always" answer stores: the host of the address. Undefined when it holds credentials or is no web address. */
export function urlPatternFor(address: string): string | undefined {
  const url = parseUrl(address);
  if (url === undefined || !["http:", "https:"].includes(url.protocol) || url.username + url.password !== "")
    return undefined;
  return `domain:${url.host}`;
}

/** Plain text with `*` for anything, read from left to right. */
export function matchesText(pattern: string, text: string): boolean {
  const [first = "", ...others] = pattern.split("*");
  const last = others.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const piece of others) {
    const found = text.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}

function parseUrlPattern(text: string): UrlPattern | undefined {
  if (text === "*") return { port: "" };
  const parts = /^(?:domain:)?(?:(https?):\/\/)?(\*\.)?([^/*@?#\s]+)(\/[^\s]*)?$/.exec(text);
  const [, scheme, below = "", host = "", path] = parts ?? [];
  const url = parts === null ? undefined : parseUrl(`${scheme ?? "https"}://${host}`);
  if (url === undefined) return undefined;
  return {
    host: (below === "" ? "" : ".") + hostName(url),
    port: url.port,
    ...(scheme !== undefined && { scheme: `${scheme}:` }),
    ...(path !== undefined && { path }),
  };
}

function parseUrl(address: string): URL | undefined {
  return URL.canParse(address) ? new URL(address) : undefined;
}

function hostFits(pattern: UrlPattern, url: URL): boolean {
  if (pattern.host === undefined) return true;
  return pattern.host.startsWith(".") ? hostName(url).endsWith(pattern.host) : hostName(url) === pattern.host;
}

/** Without the dot that may end a full name. */
function hostName(url: URL): string {
  return url.hostname.toLowerCase().replace(/\.$/, "");
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path).toLowerCase();
  } catch {
    return path; // a stray percent sign: compared as it is
  }
}
