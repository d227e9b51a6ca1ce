/** The routes of `useChat` (AI SDK 7): a chat is the session whose key is the chat's id. */

import { type Answer, CapstanError, isLive, type OpenRequest, type Part, type Run, type Session } from "@capstan/core";
import { parseUiPost, UI_MESSAGE_TAG, UI_STREAM_HEADERS, type UiAnswer, uiHistory, type UiPost } from "@capstan/wire";
import { refuseUntrusted } from "./caller.ts";
import { json } from "./errors.ts";
import { type Call, type Route, route } from "./route.ts";
import { runInLog } from "./run-routes.ts";
import { chatBody, respondBody } from "./schemas.ts";
import { noContent, openSession } from "./session-routes.ts";
import { streamResponse } from "./stream-response.ts";
import { uiFrames } from "./ui-frames.ts";

export const chatRoutes: readonly Route[] = [
  route({
    method: "post",
    path: "/chat/:agent",
    summary: "What useChat posts: a message, answers to what was asked, or a wish for another answer.",
    body: chatBody,
    streams: true,
    run: (call) => streamed(call, () => posted(call, parseUiPost(call.body))),
  }),
  route({
    method: "get",
    path: "/chat/:agent/:id/stream",
    summary: "The answer that is being given, from its beginning; 204 when there is none.",
    streams: true,
    run: async (call) => {
      const session = await chatOf(call);
      const run = session === undefined ? undefined : await activeRun(call, session);
      return run === undefined ? noContent() : streamed(call, () => Promise.resolve({ run }));
    },
  }),
  route({
    method: "get",
    path: "/chat/:agent/:id/messages",
    summary: "The conversation as UI messages.",
    run: async (call) => {
      const session = await chatOf(call);
      return json({ messages: session === undefined ? [] : await historyOf(session) });
    },
  }),
  route({
    method: "post",
    path: "/chat/:agent/:id/interrupt",
    summary: "The stop button: ends the answer that is being given.",
    run: async (call) => {
      await (await chatOf(call))?.interrupt();
      return noContent();
    },
  }),
  route({
    method: "post",
    path: "/chat/:agent/:id/respond",
    summary: "Answers a request that came as a data-request part.",
    body: respondBody,
    run: async (call) => {
      const answer = call.body.answer as unknown as Answer; // core checks that it fits
      if ("remember" in answer && answer.remember !== undefined && answer.remember !== "session")
        refuseUntrusted(call.caller, { remember: answer.remember });
      const session = await chatOf(call);
      if (session === undefined) throw unknownChat(call.param("id"));
      await session.respond(call.body.requestId, answer);
      return noContent();
    },
  }),
];

async function posted(call: Call<unknown>, post: UiPost): Promise<Shown> {
  const agent = call.param("agent");
  if (post.said === undefined && post.trigger === "submit-message") return answered(call, post);
  const opened = await openSession(call, { agent, key: post.id });
  if (!(await isOf(opened, agent))) throw unknownChat(post.id);
  const again = await rewritten(opened, post);
  if (again !== undefined) return { run: again };
  if (post.said === undefined) throw new CapstanError("input-invalid", "There is no message to answer");
  return { run: await say(opened, post.said.parts, post.said.messageId) };
}

/** The same message gives the same run. Behind a question that nobody answered a new message would wait for ever. */
async function say(session: Session, parts: readonly Part[], messageId: string): Promise<Run> {
  const { status } = await session.state();
  return session.send(parts, {
    ifBusy: status === "waiting" ? "interrupt" : "queue",
    ...(messageId !== "" && { idempotencyKey: `chat/${messageId}`, tags: { [UI_MESSAGE_TAG]: messageId } }),
  });
}

/** Another answer to an earlier message, or an earlier message said in another way: a fork takes the chat over. */
async function rewritten(session: Session, { trigger, messageId, said }: UiPost): Promise<Run | undefined> {
  if (trigger === "submit-message" && messageId === undefined) return undefined;
  const inputs = await inputsOf(session);
  const target = inputs.findLast(
    (input) => messageId === undefined || input.runId === messageId || input.messageId === messageId,
  );
  if (target === undefined) {
    if (trigger === "submit-message") return undefined;
    throw new CapstanError("input-invalid", "There is no answer to give again");
  }
  if (await session.isRunning()) await session.interrupt();
  const fork = await session.fork({ at: target.seq - 1, keepKey: true });
  const parts = trigger === "regenerate-message" ? target.parts : (said?.parts ?? target.parts);
  return say(fork, parts, target.messageId);
}

type Input = {
  readonly seq: number;
  readonly runId: string;
  readonly messageId: string;
  readonly parts: readonly Part[];
};

async function inputsOf(session: Session): Promise<readonly Input[]> {
  const { head } = await session.state();
  const inputs: Input[] = [];
  for await (const { event } of session.events({ live: false })) {
    if (event.type === "input.accepted") {
      const { seq, runId = "", parts, overrides } = event;
      inputs.push({ seq, runId, parts, messageId: overrides?.tags?.[UI_MESSAGE_TAG] ?? "" });
    }
    if (event.seq >= head) break;
  }
  return inputs;
}

/** Answers to what the run of now asked; those of requests that are closed change nothing. */
async function answered(call: Call<unknown>, post: UiPost): Promise<Shown> {
  const session = await chatOf(call, post.id);
  const run = session === undefined ? undefined : await activeRun(call, session);
  if (session === undefined || run === undefined) throw unknownChat(post.id);
  const { head, requests } = await session.state();
  const open = Object.values(requests);
  for (const answer of post.answers) {
    const requestId = requestOf(answer, open);
    if (requestId !== undefined) await session.respond(requestId, answer.answer);
  }
  return { run, after: head, knownCalls: post.knownCalls };
}

function requestOf(answer: UiAnswer, open: readonly OpenRequest[]): string | undefined {
  return open.find(({ requestId, body }) =>
    answer.type === "approval"
      ? requestId === answer.requestId
      : body.type === "client-tool" && body.callId === answer.callId,
  )?.requestId;
}

/** A run, and what of it the client shows already. */
type Shown = { readonly run: Run; readonly after?: number; readonly knownCalls?: readonly string[] };

/** Without a place for the stream nothing is said or answered. */
async function streamed({ door, caller }: Call<unknown>, find: () => Promise<Shown>): Promise<Response> {
  const giveBack = door.takeStream(caller);
  const stop = new AbortController();
  const ended = (): void => {
    stop.abort();
    giveBack();
  };
  try {
    const { run, ...seen } = await find();
    const signal = AbortSignal.any([stop.signal, door.closing]);
    const frames = uiFrames(run, { ...seen, signal, result: () => door.results.settled(run) });
    return streamResponse(frames, { headers: UI_STREAM_HEADERS, clock: door.clock, ended });
  } catch (error) {
    ended();
    throw error;
  }
}

/** The session of a chat, when there is one of this agent. */
async function chatOf({ runtime, param }: Call<unknown>, id = param("id")): Promise<Session | undefined> {
  const [summary] = await runtime.sessions({ key: id, limit: 1 });
  if (summary === undefined) return undefined;
  const session = await runtime.session(summary.sessionId);
  return (await isOf(session, param("agent"))) ? session : undefined;
}

/** Another agent may have taken over since. */
async function isOf(session: Session, agent: string): Promise<boolean> {
  return session.agent === agent || (await session.state()).openedWith === agent;
}

async function activeRun({ door }: Call<unknown>, session: Session): Promise<Run | undefined> {
  const { run, queue } = await session.state();
  const id = run?.id ?? queue[0]?.runId;
  return id === undefined ? undefined : runInLog(session, id, door);
}

async function historyOf(session: Session): Promise<unknown> {
  const { head } = await session.state();
  const history = uiHistory();
  for await (const envelope of session.events({ live: false })) {
    history.push(envelope);
    if (!isLive(envelope.event) && envelope.event.seq >= head) break;
  }
  return history.messages;
}

function unknownChat(id: string): CapstanError {
  return new CapstanError("session-not-found", `There is no chat ${JSON.stringify(id)} with something to answer`);
}
