/** Moments that are only watched: they are seen in the events of a session and hold up nothing. */

import { type Definitions, type Envelope, type Fact, type FactOf, isLive, type Json, textOf } from "@capstan/core";
import { Background } from "../background.ts";
import type { HookEvent } from "./event-names.ts";
import type { HookSettings } from "./parse-settings.ts";
import { type HookRun, type Moment, runHooks, type Said, type Scene } from "./run-hooks.ts";

type Watched = Omit<Moment, "scene"> & { readonly request?: FactOf<"request.opened"> };
type WatchOptions = {
  readonly settings: HookSettings;
  readonly env: HookRun["env"];
  /** Whether a command's word can allow a call. */
  readonly mayAllow: boolean;
};

/** Time that all `SessionEnd` commands have when a runtime closes. */
const END_MS = 5_000;
/** Sessions that are kept in mind; older ones are looked up again, or end without their commands. */
const MAX_SCENES = 10_000;
const ACTOR = { id: "settings-hooks", door: "plugin" };

/** One open runtime and the sessions that were seen in it. */
export class EventWatcher {
  readonly #runtime: Definitions;
  readonly #options: WatchOptions;
  readonly #background = new Background();
  readonly #scenes = new Map<string, Promise<Scene>>();

  constructor(runtime: Definitions, options: WatchOptions) {
    this.#runtime = runtime;
    this.#options = options;
  }

  see({ sessionId, agent, event }: Envelope): void {
    if (isLive(event)) return;
    if (this.#commandsOf("SessionEnd").length > 0) void this.#sceneOf(sessionId, agent);
    for (const watched of momentsOf(event)) {
      if (this.#commandsOf(watched.event).length === 0) continue;
      this.#background.start(async () => {
        const scene = await this.#sceneOf(sessionId, agent);
        const said = await this.#run({ ...watched, scene }, this.#background.signal);
        if (watched.request !== undefined) await this.#answer(sessionId, watched.request, said);
      });
    }
  }

  start(run: (signal: AbortSignal) => Promise<unknown>): void {
    this.#background.start(() => run(this.#background.signal));
  }

  async close(): Promise<void> {
    await this.#background.close();
    if (this.#commandsOf("SessionEnd").length === 0) return;
    const scenes = await Promise.allSettled(this.#scenes.values());
    const signal = AbortSignal.timeout(END_MS);
    const ends = scenes.flatMap((scene) =>
      scene.status === "fulfilled"
        ? [
            this.#run(
              { event: "SessionEnd", scene: scene.value, subject: "other", fields: { reason: "other" } },
              signal,
            ),
          ]
        : [],
    );
    await Promise.allSettled(ends);
  }

  #commandsOf(event: HookEvent) {
    return this.#options.settings.commands.get(event) ?? [];
  }

  #run(moment: Moment, signal: AbortSignal): Promise<Said> {
    return runHooks(moment, {
      commands: this.#commandsOf(moment.event),
      env: this.#options.env,
      perform: (_id, run) => run(signal),
      background: (run) => void run(signal).catch(() => undefined),
    });
  }

  /** The first fact of a session says where it stands. */
  #sceneOf(sessionId: string, agent: string): Promise<Scene> {
    const known = this.#scenes.get(sessionId);
    if (known !== undefined) return known;
    const read = async (): Promise<Scene> => {
      for await (const fact of this.#runtime.engine.read(sessionId, { types: ["session.created"] })) {
        if (fact.type !== "session.created") continue;
        const { workspace, mode, parent } = fact;
        return { sessionId, agent, mode, isChild: parent !== undefined, cwd: workspace?.root ?? process.cwd() };
      }
      throw new Error(`session ${sessionId} has no first fact`);
    };
    const made = read();
    made.catch(() => this.#scenes.delete(sessionId));
    this.#scenes.set(sessionId, made);
    const [oldest] = this.#scenes.keys();
    if (this.#scenes.size > MAX_SCENES && oldest !== undefined) this.#scenes.delete(oldest);
    return made;
  }

  /** A command's decision is an answer like a person's: the first one counts. */
  async #answer(sessionId: string, { requestId, request }: FactOf<"request.opened">, said: Said): Promise<void> {
    const { block, verdict, input } = said;
    const allow = block === undefined;
    if (allow && (verdict !== "allow" || !this.#options.mayAllow)) return;
    const reason = allow ? {} : { reason: block };
    const asked = request.type === "permission" ? request.input : undefined;
    const edited = allow && input !== asked ? { input } : {}; // as shown it may be redacted: only a change goes back
    await this.#runtime.engine.submit(
      { type: "respond", sessionId, requestId, answer: { type: "permission", allow, ...reason, ...edited } },
      { idempotencyKey: `settings-hooks/${requestId}`, actor: ACTOR },
    );
  }
}

/** What a fact means for the settings. Pure. */
function momentsOf(fact: Fact): readonly Watched[] {
  switch (fact.type) {
    case "request.opened":
      return requestMoments(fact);
    case "message.added": {
      if (fact.message.role !== "assistant") return [];
      return [{ event: "PostAssistantResponse", fields: { last_assistant_message: textOf(fact.message.parts) } }];
    }
    case "tool.finished": {
      const { callId, name, status, output } = fact;
      if (status !== "denied") return [];
      return [
        {
          event: "PermissionDenied",
          call: { callId, tool: name, input: null },
          fields: { reason: textOf(output.content) },
        },
      ];
    }
    case "run.finished":
      if (fact.reason === "end-turn" || fact.reason === "interrupted") return [];
      return [
        {
          event: "StopFailure",
          subject: fact.reason,
          fields: { reason: fact.reason, error: fact.error?.message ?? "" },
        },
      ];
    case "context.compacted":
      return [{ event: "PostCompact", subject: fact.trigger, fields: { trigger: fact.trigger } }];
    case "task.started":
      return [{ event: "TaskCreated", subject: fact.kind, fields: { task_id: fact.taskId, title: fact.title } }];
    case "task.finished":
      return [{ event: "TaskCompleted", subject: fact.status, fields: { task_id: fact.taskId, status: fact.status } }];
    default:
      return [];
  }
}

function requestMoments(fact: FactOf<"request.opened">): readonly Watched[] {
  const { request } = fact;
  const kind = request.type === "permission" ? "permission_prompt" : "elicitation_dialog";
  const message = request.type === "permission" ? `Permission is needed: ${request.title}` : "An answer is needed";
  const fields: { readonly [name: string]: Json } = { message, notification_type: kind };
  const notification: Watched = { event: "Notification", subject: kind, fields };
  if (request.type !== "permission") return [notification];
  const { callId, tool, input } = request;
  return [notification, { event: "PermissionRequest", call: { callId, tool, input }, request: fact }];
}
