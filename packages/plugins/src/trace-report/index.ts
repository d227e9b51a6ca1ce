/** Reports of what a session did, as data and as one inert HTML file. */

export { type Trace, traceOf, type TraceSpan } from "./trace.ts";
export { traceHtml } from "./trace-html.ts";
