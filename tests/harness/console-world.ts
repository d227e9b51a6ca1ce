/** A server with the console and agents that do what the last thing said names: for tests in a browser. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { consolePages } from "@capstan/console";
import {
  agent,
  type Agent,
  flowTool,
  type Json,
  jsonSchema,
  type Message,
  memoryStore,
  openRuntime,
  type Runtime,
  type Store,
  storeEngine,
  systemClock,
  systemIds,
  tool,
} from "@capstan/core";
import { scriptedModel, type ScriptedTurn } from "@capstan/core/testing";
import { httpHandler, nodeListener } from "@capstan/server/http";

export const TOKEN = "a-token-of-the-console-tests";

export type ConsoleWorld = AsyncDisposable & {
  readonly url: string;
  readonly runtime: Runtime;
  readonly server: Server;
  /** Lets the answers that are held go on. */
  readonly letGo: () => void;
  /** Cuts every connection, as a network does. */
  readonly cut: () => void;
  /** Listens no more, and on the same port again. */
  readonly down: () => Promise<void>;
  readonly up: () => Promise<void>;
};

const anything = jsonSchema<{ readonly [name: string]: Json }>({ type: "object" });
const SCHEMA = jsonSchema<Json>({
  type: "object",
  properties: {
    name: { type: "string", title: "Name of the release" },
    level: { type: "string", enum: ["patch", "minor"], title: "Level", description: "What the change asks for." },
    count: { type: "integer", title: "Machines" },
    notify: { type: "boolean", title: "Tell the others", default: true },
  },
  required: ["name", "level"],
});

const INERT = [
  "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>",
  "[bad](javascript:window.hacked=3) [good](https://example.com/page) [data](data:text/html,x) [near](/sessions)",
  "![picture](https://tracker.example/pixel.png)",
  "<iframe src='https://tracker.example'></iframe><style>body{display:none}</style><a href='javascript:window.hacked=4'>in HTML</a>",
].join("\n\n");

export const PROSE = `The retry loop **never resets** its attempt counter, so a client that recovers once starts its next outage at the longest wait.

## What changes

1. Reset \`attempt\` after a response.
2. Cap the wait at *five seconds*.
3. Keep the jitter.

\`\`\`ts
export function waitFor(attempt: number): number {
  const base = Math.min(5_000, 250 * 2 ** attempt);
  return base / 2 + jitter(base / 2);
}
\`\`\`

| attempt | before | after |
| --- | --- | --- |
| 1 | 250 ms | 250 ms |
| 6 | 16 s | 5 s |

> Tests for both paths are in \`retry.test.ts\`. See [the decision](https://example.com/decisions/12).
`;

const deploy = tool({
  name: "deploy",
  description: "Deploys a service.",
  input: anything,
  title: () => "Deploy billing to production",
  permission: "ask",
  execute: (input) => `deployed ${JSON.stringify(input)}`,
});
const pay = tool({
  name: "pay_invoice",
  description: "Pays an invoice.",
  input: anything,
  execute: () => new Promise<string>(() => undefined),
});
const edit = tool({
  name: "edit_file",
  description: "Changes a file.",
  input: anything,
  rerun: "safe",
  kind: "edit",
  execute: () => ({
    content: [
      {
        type: "diff",
        path: "src/net/retry.ts",
        before:
          "import { sleep } from './sleep.ts';\n\nlet attempt = 0;\n\nexport async function retry(call) {\n  for (;;) {\n    try {\n      return await call();\n    } catch (error) {\n      attempt += 1;\n      await sleep(250 * 2 ** attempt);\n    }\n  }\n}\n",
        after:
          "import { sleep } from './sleep.ts';\n\nexport async function retry(call) {\n  for (let attempt = 0; ; attempt++) {\n    try {\n      return await call();\n    } catch (error) {\n      await sleep(Math.min(5_000, 250 * 2 ** attempt));\n    }\n  }\n}\n",
      },
    ],
  }),
});
const search = tool({
  name: "grep",
  description: "Searches.",
  input: anything,
  rerun: "safe",
  kind: "search",
  execute: () => "src/net/retry.ts:3: let attempt = 0;\nsrc/net/retry.ts:10: attempt += 1;",
});
const photograph = tool({
  name: "photograph",
  description: "Takes a picture.",
  input: anything,
  rerun: "safe",
  execute: () => ({
    content: [
      {
        type: "file",
        mediaType: "image/png",
        name: "cat.png",
        data: { type: "base64", base64: Buffer.alloc(40_000, 7).toString("base64") },
      },
    ],
  }),
});
const locate = tool({ name: "read_screen", description: "Reads the screen.", input: anything });
const consult = flowTool({
  name: "consult",
  description: "Asks a person.",
  input: anything,
  async flow({ kind }, context) {
    if (kind === "plan") return JSON.stringify(await context.plan("plan", "## Plan\n\n1. Look\n2. Leap\n"));
    if (kind === "form")
      return JSON.stringify(await context.form("form", { message: "Tell me about the release.", schema: SCHEMA }));
    const level = { header: "Scope", question: "How far may I go?", multiSelect: false };
    const more = { header: "Checks", question: "What shall be checked?", multiSelect: true };
    return JSON.stringify(
      await context.question("question", [
        {
          ...level,
          options: [
            { label: "This file", description: "Only the retry loop" },
            { label: "The module", description: "All of src/net" },
          ],
        },
        {
          ...more,
          options: [
            { label: "Types", description: "tsc" },
            { label: "Tests", description: "vitest" },
          ],
        },
      ]),
    );
  },
});

/** What the guide does, by a word in what was said last. */
function replies(gate: () => Promise<void>): (said: string) => ScriptedTurn {
  const call = (name: string, input: Json = {}): ScriptedTurn => ({ calls: [{ name, input }] });
  return (said) => {
    if (said.includes("deploy"))
      return call("deploy", { service: "billing", replicas: 3, note: "after the retry fix" });
    if (said.includes("question")) return call("consult", { kind: "question" });
    if (said.includes("plan")) return call("consult", { kind: "plan" });
    if (said.includes("form")) return call("consult", { kind: "form" });
    if (said.includes("picture")) return call("photograph");
    if (said.includes("screen")) return call("read_screen", { region: "top" });
    if (said.includes("pay")) return call("pay_invoice", { invoice: "A-17", euros: 240 });
    if (said.includes("fix"))
      return {
        reasoning: "The counter lives outside of the function. That is the fault.",
        text: "I look for the counter, then change the loop.",
        calls: [
          { name: "grep", input: { pattern: "attempt", path: "src" } },
          { name: "edit_file", input: { path: "src/net/retry.ts" } },
        ],
      };
    if (said.includes("team"))
      return {
        calls: [
          { name: "worker", input: { task: "read the logs" } },
          { name: "worker", input: { task: "deploy" } },
        ],
      };
    if (said.includes("inert")) return { text: INERT };
    if (said.includes("slow")) return { text: PROSE, deltas: 40, hold: gate() };
    if (said.includes("explain")) return { reasoning: "Let me think.", text: PROSE };
    return { text: `You said: ${said}` };
  };
}

function speaker(name: string, gate: () => Promise<void>): ReturnType<typeof scriptedModel> {
  const reply = replies(gate);
  const turn = (request: { readonly messages: readonly Message[] }): ScriptedTurn => {
    const last = request.messages.at(-1);
    const result = last?.parts.find((part) => part.type === "tool-result");
    if (result?.type === "tool-result") return { text: `The result: ${JSON.stringify(result.output.content[0])}` };
    return reply(last?.parts.map((part) => (part.type === "text" ? part.text : "")).join("") ?? "");
  };
  return scriptedModel(
    Array.from({ length: 20_000 }, () => turn),
    { id: `scripted/${name}`, capabilities: { contextTokens: 200_000 } },
  );
}

export async function consoleWorld(store: Store = memoryStore(), port = 0): Promise<ConsoleWorld> {
  let held: PromiseWithResolvers<void> = Promise.withResolvers();
  const gate = (): Promise<void> => held.promise;
  const tools = [photograph, deploy, pay, edit, search, locate, consult];
  const worker = agent({
    name: "worker",
    description: "Does one thing.",
    model: speaker("worker", gate),
    instructions: "Work.",
    tools: [deploy],
  });
  const guide: Agent<string> = agent({
    name: "guide",
    model: speaker("guide", gate),
    instructions: "Be brief and exact.",
    tools: [...tools, worker],
  });
  const engine = storeEngine(store, { clock: systemClock, ids: systemIds(() => systemClock.now()) });
  const runtime = await openRuntime({ agents: [guide], engine, work: "all", permission: { mode: "ask" } });
  const handle = httpHandler({
    runtime,
    pages: consolePages(),
    agents: ["guide", "worker"],
    blob: (hash) => engine.blob(hash),
    authorize: (request) =>
      request.headers.get("authorization") === `Bearer ${TOKEN}` ? { id: "operator", trusted: true } : null,
  });
  const listener = nodeListener(handle);
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing));
  const up = (at: number): Promise<void> => new Promise((resolve) => server.listen(at, "127.0.0.1", resolve));
  await up(port);
  const own = (server.address() as AddressInfo).port; // it listens on a socket of the network
  const down = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return {
    url: `http://127.0.0.1:${own}`,
    runtime,
    server,
    letGo() {
      held.resolve();
      held = Promise.withResolvers();
    },
    cut: () => server.closeAllConnections(),
    down,
    up: () => up(own),
    async [Symbol.asyncDispose]() {
      held.resolve();
      handle.close();
      if (server.listening) await down();
      await runtime.close({ graceMs: 0 });
    },
  };
}
