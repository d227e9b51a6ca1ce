/** Server-sent events as text (WHATWG HTML, section 9.2). */

export type SseFrame = { readonly data: string; readonly event?: string; readonly id?: string };

/** `data` is JSON text or the like: without line breaks. */
export function sseFrame({ data, event, id }: SseFrame): string {
  const name = event === undefined ? "" : `event: ${event}\n`;
  return `${id === undefined ? "" : `id: ${id}\n`}${name}data: ${data}\n\n`;
}

/** A line that readers skip: it keeps proxies from closing a silent stream. */
export const SSE_KEEP_ALIVE = ": keep-alive\n\n";
