/** The transport of `useChat` (AI SDK 7) for the HTTP door. Runs in browsers: it needs `fetch` and nothing of Capstan. */

/** Of chunks and messages only what the transport itself looks at; `ai` has the types. */
export type ChatTransportOptions = {
  /** Where the chat's routes are, such as `/api/agents/chat/support`. */
  readonly api: string;
  /** Sent with every request; a function is asked each time, for tokens that are renewed. */
  readonly headers?:
    | Readonly<Record<string, string>>
    | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);
  /** Default "same-origin". */
  readonly credentials?: "omit" | "same-origin" | "include";
  readonly fetch?: typeof fetch;
};

type Sending = {
  readonly chatId: string;
  readonly messages: readonly unknown[];
  readonly trigger: "submit-message" | "regenerate-message";
  readonly messageId?: string | undefined;
  readonly abortSignal?: AbortSignal | undefined;
  readonly headers?: Headers | Record<string, string> | undefined;
};
type Reconnecting = {
  readonly chatId: string;
  readonly abortSignal?: AbortSignal | undefined;
  readonly headers?: Headers | Record<string, string> | undefined;
};

/** Fits `useChat({ transport })`. `Chunk` is `UIMessageChunk` of `ai`. */
export type ChatTransport<Chunk> = {
  readonly resumeStreamIsReplay: true;
  sendMessages(options: Sending): Promise<ReadableStream<Chunk>>;
  reconnectToStream(options: Reconnecting): Promise<ReadableStream<Chunk> | null>;
  /** The stop button: ends the answer on the server. Closing the stream only stops listening. */
  interrupt(chatId: string): Promise<void>;
  /** Answers a request that came as a `data-request` part. */
  respond(chatId: string, requestId: string, answer: object): Promise<void>;
  /** The conversation as UI messages, for `useChat({ messages })`. */
  messages<Message = unknown>(chatId: string): Promise<readonly Message[]>;
};

/** Any chunk will do where no type is asked for. */
// oxlint-disable-next-line typescript/no-explicit-any -- whoever gives it to `useChat` has the type of its chunks
export function chatTransport<Chunk = any>(options: ChatTransportOptions): ChatTransport<Chunk> {
  const { api, credentials = "same-origin" } = options;
  const ask = async (
    path: string,
    init: RequestInit = {},
    own?: Headers | Record<string, string>,
  ): Promise<Response> => {
    const { headers: given = {} } = options;
    const headers = new Headers(typeof given === "function" ? await given() : given);
    new Headers(own).forEach((value, name) => headers.set(name, value));
    if (init.body !== undefined) headers.set("content-type", "application/json");
    const response = await (options.fetch ?? fetch)(`${api}${path}`, { credentials, ...init, headers });
    if (!response.ok) throw new Error(await saidBy(response));
    return response;
  };
  const post = (path: string, body: object): Promise<Response> =>
    ask(path, { method: "POST", body: JSON.stringify(body) });
  const of = (chatId: string): string => `/${encodeURIComponent(chatId)}`;
  return {
    resumeStreamIsReplay: true,
    async sendMessages({ chatId: id, messages, trigger, messageId, abortSignal, headers }) {
      // of the history the server reads the newest words only, and answers that stand in the message before
      const body = JSON.stringify({ id, messages: messages.slice(-1), trigger, messageId });
      const response = await ask("", { method: "POST", body, signal: abortSignal ?? null }, headers);
      return chunksIn<Chunk>(response);
    },
    async reconnectToStream({ chatId, abortSignal, headers }) {
      const response = await ask(`${of(chatId)}/stream`, { signal: abortSignal ?? null }, headers);
      return response.status === 204 ? null : chunksIn<Chunk>(response);
    },
    async interrupt(chatId) {
      await post(`${of(chatId)}/interrupt`, {});
    },
    async respond(chatId, requestId, answer) {
      await post(`${of(chatId)}/respond`, { requestId, answer });
    },
    async messages<Message>(chatId: string) {
      const { messages } = (await (await ask(`${of(chatId)}/messages`)).json()) as { messages: readonly Message[] }; // our own door
      return messages;
    },
  };
}

async function saidBy(response: Response): Promise<string> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as { error: { message: string; code: string } }; // our own door
    return `${error.message} (${error.code})`;
  } catch {
    return `The server answered ${response.status}`;
  }
}

/** A stream that is cut is an error: what was being said goes on, and `resumeStream` finds it. */
function chunksIn<Chunk>({ body }: Response): ReadableStream<Chunk> {
  const reader = (body ?? new ReadableStream<Uint8Array>()).getReader();
  const decoder = new TextDecoder();
  let text = "";
  return new ReadableStream<Chunk>({
    async pull(controller) {
      for (;;) {
        const end = text.indexOf("\n\n");
        if (end !== -1) {
          const data = dataOf(text.slice(0, end));
          text = text.slice(end + 2);
          if (data === "[DONE]") {
            controller.close();
            return reader.cancel();
          }
          if (data === undefined) continue;
          return controller.enqueue(JSON.parse(data) as Chunk);
        }
        const { value, done } = await reader.read();
        if (done) return controller.error(new TypeError("The connection was lost; resumeStream() goes on with it"));
        text += decoder.decode(value, { stream: true });
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

function dataOf(block: string): string | undefined {
  const lines = block.split("\n").flatMap((line) => (line.startsWith("data:") ? [line.slice(5).trimStart()] : []));
  return lines.length === 0 ? undefined : lines.join("\n");
}
