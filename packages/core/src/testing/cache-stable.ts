/** Checks that requests go on from one another byte for byte, so that a provider's prompt cache can be read. */

type Wire = { readonly [name: string]: unknown };

/** What providers read before the conversation, by every name that a request or a body has for it. */
const PREFIX: readonly string[] = ["tools", "system", "systemInstruction", "instructions"];
const CONVERSATION: readonly string[] = ["messages", "input", "contents", "prompt"];

/**
 * Throws when a request does not begin with all of the one before it: system text, tools and messages. `sent`: a
 * `scriptedModel`, its requests, or bodies that a provider received. Requests of different sessions are compared apart;
 * cache markers, and what a `prepare` hook adds for one call, are no part of the prefix. The error names the first
 * segment that differs.
 */
export function expectCacheStable(sent: { readonly requests: readonly object[] } | readonly object[]): void {
  const requests = "requests" in sent ? sent.requests : sent;
  const last = new Map<unknown, { readonly number: number; readonly segments: readonly Segment[] }>();
  for (const [at, request] of requests.entries()) {
    const body: Wire = { ...request };
    const segments = segmentsOf(body);
    const before = last.get(body["sessionId"]);
    last.set(body["sessionId"], { number: at + 1, segments });
    const broken = before?.segments.find((segment, index) => segment.text !== segments[index]?.text);
    if (before === undefined || broken === undefined) continue;
    const now = segments[before.segments.indexOf(broken)];
    throw new Error(
      `request ${at + 1} does not go on from request ${before.number}: ${broken.name} ${difference(broken.text, now?.text)}`,
    );
  }
}

type Segment = { readonly name: string; readonly text: string };

function segmentsOf(body: Wire): readonly Segment[] {
  const found = CONVERSATION.map((name) => body[name]).find(Array.isArray) ?? [];
  const messages: readonly unknown[] = isTail(found.at(-1)) ? found.slice(0, -1) : found;
  return [
    ...PREFIX.map((name) => ({ name, text: bytesOf(body[name]) })),
    ...messages.map((message, index) => ({ name: `message ${index}`, text: bytesOf(message) })),
  ];
}

/** The message that the loop makes of what `prepare` hooks add for one call. */
function isTail(message: unknown): boolean {
  return /\/tail\/\d+$/.test(String((Object(message) as Wire)["id"]));
}

/** As JSON, without the markers that move from turn to turn. */
function bytesOf(value: unknown): string {
  const unmarked = (name: string, member: unknown): unknown => (name === "cache_control" ? undefined : member);
  return JSON.stringify(value, unmarked) ?? "";
}

/** Characters shown of each side. */
const SHOWN = 60;

function difference(before: string, now: string | undefined): string {
  if (now === undefined) return "is missing";
  let at = 0;
  while (at < before.length && before[at] === now[at]) at++;
  const shown = (text: string): string => JSON.stringify(text.slice(Math.max(0, at - SHOWN / 2), at + SHOWN / 2));
  return `differs at character ${at}: ${shown(before)} became ${shown(now)}`;
}
