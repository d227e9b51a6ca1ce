/** Handing a session over: the end of a call of such a tool. */

import type { Hold } from "../hold/hold.ts";
import { type CallEnd, failed } from "../state/call-end.ts";
import { textOutput } from "../words/message.ts";

/** The end of a permitted call. One agent takes over a turn: the first that was called. */
export function handOver({ run, definitions }: Hold, agent: string): CallEnd {
  const taken = run.calls.find(({ handoff }) => handoff !== undefined)?.handoff;
  if (taken !== undefined) return failed(`The conversation goes to ${taken}: only one agent can take it over.`);
  if (definitions.find(agent) === undefined) return failed(`There is no agent named ${JSON.stringify(agent)} here.`);
  return { status: "ok", output: textOutput(`The agent ${agent} takes over this conversation.`), handoff: agent };
}
