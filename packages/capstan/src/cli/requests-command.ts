/** `capstan requests`: the open questions of every session, and their answers, from any process. */

import { CapstanError, type Engine, type OpenRequest, systemClock } from "@capstan/core";
import type { Config } from "../config.ts";
import { EXIT } from "./failure.ts";
import { answeredWith, type AnswerFlags, answerOf } from "./request-answer.ts";
import { requestLines } from "./request-lines.ts";
import { shownTime } from "./shown-values.ts";
import { withEngine, withRuntime, withStore } from "./stored-sessions.ts";
import { unfinished } from "./unfinished.ts";

export function listRequests(
  name: string,
  config: Config | undefined,
  { json = false }: { readonly json?: boolean },
): Promise<number> {
  return withEngine(config, async (engine, screen) => {
    const all = await openRequests(engine);
    const answered = await answeredRequests(config, all);
    const open = all.filter(({ requestId }) => !answered.has(requestId));
    if (json) for (const request of open) screen.data(JSON.stringify(request));
    else for (const request of open) for (const line of shownRequest(name, request)) screen.data(line);
    if (!json && open.length === 0) screen.note("Nothing is open.");
    const waiting = new Set(all.flatMap(({ requestId, sessionId }) => (answered.has(requestId) ? [sessionId] : [])));
    for (const id of waiting) screen.note(`An answer waits to be taken up; "${name} resume ${id}" goes on with it`);
    return EXIT.done;
  });
}

export async function answerRequest(
  name: string,
  config: Config | undefined,
  requestId: string,
  flags: AnswerFlags,
): Promise<number> {
  let sessionId = "";
  const exitCode = await withRuntime(config, async ({ runtime, engine, screen }) => {
    const request = (await openRequests(engine)).find((open) => open.requestId === requestId);
    if (request === undefined) {
      const message = `There is no open request ${JSON.stringify(requestId)}; "${name} requests list" shows those there are`;
      throw new CapstanError("request-closed", message);
    }
    ({ sessionId } = request);
    const session = await runtime.session(sessionId);
    await session.respond(requestId, answerOf(request.body, flags));
    screen.note(`Answered ${requestId}`);
    return EXIT.done;
  });
  const { free } = await unfinished(config, sessionId);
  if (free.length > 0) process.stderr.write(`"${name} resume ${sessionId}" goes on with it\n`);
  return exitCode;
}

async function openRequests(engine: Engine): Promise<readonly OpenRequest[]> {
  const now = systemClock.now();
  const sessions = await engine.list({});
  return sessions
    .flatMap(({ openRequests: open }) => open)
    .filter(({ expiresAt }) => expiresAt > now)
    .toSorted((a, b) => a.openedAt - b.openedAt);
}

/** Those whose answer lies in the mailbox until somebody drives the session. */
async function answeredRequests(
  config: Config | undefined,
  requests: readonly OpenRequest[],
): Promise<ReadonlySet<string>> {
  const sessions = [...new Set(requests.map(({ sessionId }) => sessionId))];
  if (sessions.length === 0) return new Set();
  const mail = await withStore(config, (store) => Promise.all(sessions.map((id) => store.mail(id))));
  return new Set(
    mail?.flat().flatMap((entry) => (entry.type === "op" && entry.op.type === "respond" ? [entry.op.requestId] : [])),
  );
}

function shownRequest(name: string, { requestId, sessionId, body, expiresAt }: OpenRequest): readonly string[] {
  return [
    `${requestId}  ${body.type}  of ${sessionId}, until ${shownTime(expiresAt)}`,
    ...requestLines(body).map((line) => `  ${line}`.trimEnd()),
    `  answer with ${name} requests answer ${requestId} and ${answeredWith(body.type)}`,
    "",
  ];
}
