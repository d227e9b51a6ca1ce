/** One run as a response of the AI SDK's UI message stream, for a route of one's own. */

import { type Run, systemClock } from "@capstan/core";
import { UI_STREAM_HEADERS } from "@capstan/wire";
import { streamResponse } from "./stream-response.ts";
import { uiFrames } from "./ui-frames.ts";

/** From the first event of the run to its end, or to where only a person can move it. Leaving does not stop the run. */
export function uiResponse(run: Run<unknown>): Response {
  const stop = new AbortController();
  const frames = uiFrames(run, { signal: stop.signal, result: () => run.result() });
  return streamResponse(frames, { headers: UI_STREAM_HEADERS, clock: systemClock, ended: () => stop.abort() });
}
