/** A trace as one HTML file that does nothing: no script, no link, no request; whatever the model wrote is text in it. */

import { createHash } from "node:crypto";
import type { Json, Usage } from "@capstan/core";
import type { Trace, TraceSpan } from "./trace.ts";

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --bar: #48f8; --bad: #d33; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.2rem; } h2 { font-size: 1rem; margin: 2rem 0 .5rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; } dt { opacity: .7; } dd { margin: 0; }
details { border-top: 1px solid var(--line); padding: .25rem 0; } details details { margin-left: 1.25rem; }
summary { display: grid; grid-template-columns: 4.5rem minmax(0, 1fr) 9rem 6rem 8rem; gap: .75rem; cursor: pointer; align-items: center; }
summary > * { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.kind { opacity: .7; } .error { color: var(--bad); } .number { text-align: right; font-variant-numeric: tabular-nums; }
svg { display: block; width: 100%; height: .6rem; } rect { fill: var(--bar); } .error + * rect { fill: var(--bad); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #8881; padding: .5rem; margin: .25rem 0; max-height: 24rem; overflow: auto; unicode-bidi: isolate; }
`;
const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");
const POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'`;

/** Spans that are shown open from the start. */
const OPEN_KINDS: ReadonlySet<TraceSpan["kind"]> = new Set(["run"]);
/** Of one file; what comes behind is counted. */
const MAX_SPANS = 20_000;

export function traceHtml(trace: Trace): string {
  const left = { spans: MAX_SPANS };
  const rows = trace.runs.map((run, index) => `<h2>Run ${index + 1}</h2>\n${spanHtml(run, run, left)}`);
  const facts: readonly (readonly [string, string])[] = [
    ["Session", trace.sessionId],
    ["Agent", trace.agent],
    ["Began", new Date(trace.startedAt).toISOString()],
    ["Took", duration(trace.endedAt - trace.startedAt)],
    ["Usage", usageText(trace.usage)],
    ["Facts", String(trace.facts)],
    ...(trace.damage === undefined ? [] : [["Damaged", trace.damage] as const]),
  ];
  const title = trace.title ?? trace.sessionId;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escaped(title)}</h1>
<dl>
${facts.map(([name, value]) => `<dt>${name}</dt><dd>${escaped(value)}</dd>`).join("\n")}
</dl>
${rows.join("\n")}
${left.spans < 0 ? `<p>${-left.spans} more are not shown; the JSON report has them.</p>` : ""}
</body>
</html>
`;
}

function spanHtml(span: TraceSpan, run: TraceSpan, left: { spans: number }): string {
  left.spans -= 1;
  const below = span.children.map((child) => spanHtml(child, run, left)); // counted also where it is not shown
  if (left.spans < 0 && span !== run) return "";
  const end = span.endedAt ?? span.startedAt;
  const status = span.status === "open" ? "goes on" : (span.detail ?? span.status);
  const bodies = [
    ["in", span.input],
    ["out", span.output],
  ] as const;
  return `<details${OPEN_KINDS.has(span.kind) ? " open" : ""}>
<summary><span class="kind">${span.kind}</span><span>${escaped(span.name)}</span><span${span.status === "error" ? ' class="error"' : ""}>${escaped(status)}</span><span class="number">${duration(end - span.startedAt)}</span>${bar(span, run)}</summary>
${span.usage === undefined ? "" : `<p>${escaped(usageText(span.usage))}</p>`}
${bodies.map(([name, value]) => (value === undefined || value === "" ? "" : `<div>${name}<pre>${escaped(textOf(value))}</pre></div>`)).join("")}
${below.join("")}</details>
`;
}

/** Where in its run it lay, in thousandths. */
function bar(span: TraceSpan, run: TraceSpan): string {
  const whole = Math.max(1, (run.endedAt ?? run.startedAt) - run.startedAt);
  const begin = Math.round((1_000 * (span.startedAt - run.startedAt)) / whole);
  const width = Math.max(4, Math.round((1_000 * ((span.endedAt ?? span.startedAt) - span.startedAt)) / whole));
  return `<svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true"><rect x="${begin}" width="${width}" height="10"/></svg>`;
}

function textOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value, undefined, 2);
}

function duration(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

function usageText({
  inputTokens,
  outputTokens,
  cacheReadTokens = 0,
  cacheWriteTokens = 0,
  costMicroUsd,
}: Usage): string {
  const cost = costMicroUsd === undefined ? "" : `, $${(costMicroUsd / 1_000_000).toFixed(4)}`;
  return `${inputTokens} tokens in, ${cacheReadTokens} from cache, ${cacheWriteTokens} to cache, ${outputTokens} out${cost}`;
}

const ENTITIES: { readonly [character: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Text that is text wherever it stands; what cannot be seen or turns others around shows as `\u{...}`. */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "")
    .replace(
      /[\p{Cc}\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e0fff}]/gu,
      (character) =>
        character === "\n" || character === "\t" ? character : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
    );
}
