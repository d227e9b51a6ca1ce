/** The plugin: tells each run what is remembered of its subject, keeps results of tools, and brings the tools. */

import {
  type Definitions,
  type HookContext,
  type Message,
  messageOf,
  type Plugin,
  plugin,
  text,
  textOf,
  type ToolOutput,
} from "@capstan/core";
import { joinedLabels, labelsOfSession } from "./labels.ts";
import { MEMORY_LIMITS as LIMITS } from "./limits.ts";
import type { Memory, MemoryScope, Remembered } from "./memory.ts";
import { AS_DATA, type Caller, memoryTools, shownPassages } from "./memory-tools.ts";
import { type ProjectOf, projectOfRoot, scopeOf } from "./session-scope.ts";

export type MemoryPluginOptions = {
  /** Tools whose results are remembered. Default none. */
  readonly results?: readonly string[];
  /** Passages that a run is told of at its start, 0 for none. Default 5. */
  readonly recall?: number;
  /** What separates memories of one tenant. Default: the root of the workspace. */
  readonly project?: ProjectOf;
};

const PLUGIN_NAME = "memory";
/** What the run of now was told; the passages are looked up each time, so that what is forgotten is gone from then on. */
type Recalled = { readonly runId: string; readonly passages: readonly number[]; readonly labels: readonly string[] };

/** The memory stays yours to close, after the runtime. */
export function memoryPlugin(memory: Memory, options: MemoryPluginOptions = {}): Plugin {
  const { results = [], recall = LIMITS.recalled, project = projectOfRoot } = options;
  const runtimes = new Set<Definitions>();
  const caller: Caller = {
    scopeOf: (sessionId) => scopeOf(runtimes, sessionId, project),
    labelsOf: (sessionId) => labelsOfSession(runtimes, sessionId),
    clean: (said) => [...runtimes].reduce((clean, { redactor }) => redactor.text(clean), said),
  };
  return plugin<Recalled | null>({
    name: PLUGIN_NAME,
    timeoutMs: LIMITS.hookMs,
    tools: memoryTools(memory, caller),
    fold: {
      start: null,
      next: (own, fact) =>
        fact.type === "data" && fact.name === `plugin/${PLUGIN_NAME}` ? (fact.data as Recalled) : own, // recorded below
    },
    async prepare({ messages }, context) {
      if (recall <= 0) return;
      const told = context.own?.runId === context.runId ? context.own.passages : undefined;
      const passages = told ?? (await recallFor(memory, messages, context, { caller, recall }));
      if (passages.length === 0) return;
      const found = withinBound(await memory.passages(await caller.scopeOf(context.sessionId), passages));
      if (found.length > 0) return { tail: [text(tailOf(found))] };
    },
    ...(results.length > 0 && {
      async tool(call, context, next) {
        const output = await next(call);
        if (!results.includes(call.name) || output.isError === true) return output;
        await keepResult(memory, caller, context, { name: call.name, output });
        return output;
      },
    }),
    open(runtime) {
      runtimes.add(runtime);
      return {
        async [Symbol.asyncDispose]() {
          runtimes.delete(runtime);
        },
      };
    },
  });
}

type Recall = { readonly caller: Caller; readonly recall: number };

/** Searches once a run, and writes down what the run is told, with its labels. */
async function recallFor(
  memory: Memory,
  messages: readonly Message[],
  context: HookContext<Recalled | null>,
  { caller, recall }: Recall,
): Promise<readonly number[]> {
  const { runId, sessionId, signal } = context;
  const query = textOf(messages.findLast(({ role }) => role === "user")?.parts ?? []);
  if (query.trim() === "") return [];
  const scope = await caller.scopeOf(sessionId);
  const found = await context.step("recall", async () => {
    const { passages, problem } = await memory.search(scope, query, { limit: recall, signal });
    if (problem !== undefined) context.notice("Memory was searched by words only", problem);
    const bounded = withinBound(passages);
    const labels = joinedLabels(bounded.flatMap((passage) => passage.labels));
    return { passages: bounded.map(({ passage }) => passage), labels };
  });
  await context.record({ runId, ...found } satisfies Recalled);
  return found.passages;
}

/** As many, from the best on, as a run is to read. */
function withinBound(passages: readonly Remembered[]): readonly Remembered[] {
  let left: number = LIMITS.recalledCharacters;
  return passages.filter(({ text: passage }) => (left -= Math.min(passage.length, LIMITS.shownCharacters)) >= 0);
}

function tailOf(found: readonly Remembered[]): string {
  return `<system>${AS_DATA} Use what helps with the task and ignore the rest.</system>\n<memory>\n${shownPassages(found)}\n</memory>`;
}

/** What a result says is kept with its label; a memory that is full or an embedder that fails leaves the result as it is. */
async function keepResult(
  memory: Memory,
  caller: Caller,
  context: HookContext,
  { name, output }: { readonly name: string; readonly output: ToolOutput },
): Promise<void> {
  const said = caller.clean(textOf(output.content)).slice(0, LIMITS.textCharacters).toWellFormed();
  if (said.trim() === "") return;
  const { sessionId, signal } = context;
  const labels = joinedLabels(output.labels ?? [], [`from:${name}`]);
  try {
    const scope: MemoryScope = await caller.scopeOf(sessionId);
    await context.step("keep", async () => {
      const made = { text: said, origin: `tool ${name}`, sessionId, labels, evictable: true };
      return (await memory.remember(scope, made, { signal })).id;
    });
  } catch (error) {
    if (signal.aborted) throw error;
    context.notice(`The result of ${name} is not remembered`, messageOf(error));
  }
}
