/** What A2A servers answer, versions 0.3 and 1.0 of the protocol, read into one form. Everything of it is checked here. */

import type { Json } from "@capstan/core";
import { z } from "zod";

export type RemotePart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "data"; readonly data: Json }
  | {
      readonly type: "file";
      readonly mediaType: string;
      readonly name?: string;
      readonly base64?: string;
      readonly url?: string;
    };
export type TaskState =
  | "submitted"
  | "working"
  | "completed"
  | "failed"
  | "canceled"
  | "rejected"
  | "input-required"
  | "auth-required"
  | "unknown";
export type RemoteTask = {
  readonly id: string;
  readonly contextId?: string;
  readonly state: TaskState;
  /** What the agent said with its state, else the last that it said. */
  readonly said: readonly RemotePart[];
  readonly artifacts: readonly RemotePart[];
};
export type RemoteEvent =
  | { readonly type: "task"; readonly task: RemoteTask }
  | { readonly type: "message"; readonly parts: readonly RemotePart[] }
  | { readonly type: "status"; readonly task: TaskId; readonly state: TaskState; readonly said: readonly RemotePart[] }
  | { readonly type: "artifact"; readonly task: TaskId; readonly parts: readonly RemotePart[] };
export type TaskId = { readonly id: string; readonly contextId?: string };

const STATES: ReadonlySet<string> = new Set<TaskState>([
  "submitted",
  "working",
  "completed",
  "failed",
  "canceled",
  "rejected",
  "input-required",
  "auth-required",
]);

/** Whether the task does not go on by itself. */
export function isSettled(state: TaskState): boolean {
  return state !== "submitted" && state !== "working";
}

const id = z.string().min(1).max(1_024);
const name = z.string().max(1_024);
const json = z.json() as z.ZodType<Json>; // the same values
/** 1.0 tells parts apart by their members, 0.3 by `kind`: both at once is never another meaning. */
const part = z
  .object({
    text: z.string().optional(),
    data: json.optional(),
    raw: z.string().optional(),
    url: z.string().optional(),
    filename: name.optional(),
    mediaType: name.optional(),
    file: z
      .object({
        bytes: z.string().optional(),
        uri: z.string().optional(),
        name: name.optional(),
        mimeType: name.optional(),
      })
      .optional(),
  })
  .transform((given): RemotePart | undefined => {
    const { text, data, raw, url, filename, mediaType, file } = given;
    if (text !== undefined) return { type: "text", text };
    const base64 = raw ?? file?.bytes;
    const link = url ?? file?.uri;
    if (base64 !== undefined || link !== undefined) {
      const fileName = filename ?? file?.name;
      return {
        type: "file",
        mediaType: mediaType ?? file?.mimeType ?? "application/octet-stream",
        ...(fileName !== undefined && fileName !== "" && { name: fileName }),
        ...(base64 === undefined ? { url: link ?? "" } : { base64 }),
      };
    }
    return data === undefined ? undefined : { type: "data", data };
  });
const parts = z.array(part).transform((all) => all.filter((one) => one !== undefined));
const state = z.string().transform((word): TaskState => {
  const plain = word
    .toLowerCase()
    .replace(/^task_state_/, "")
    .replaceAll("_", "-");
  return STATES.has(plain) ? (plain as TaskState) : "unknown"; // checked on this line
});
const message = z.object({ role: z.string(), parts: parts.default([]) });
const status = z.object({ state, message: message.nullish() });
const artifact = z.object({ parts: parts.default([]) });
const task = z
  .object({
    id,
    contextId: id.or(z.literal("")).optional(),
    status,
    artifacts: z.array(artifact).nullish(),
    history: z.array(message).nullish(),
  })
  .transform((given): RemoteTask => {
    const last = given.history?.findLast(({ role }) => role === "agent" || role === "ROLE_AGENT");
    return {
      id: given.id,
      ...(given.contextId !== undefined && given.contextId !== "" && { contextId: given.contextId }),
      state: given.status.state,
      said: given.status.message?.parts ?? last?.parts ?? [],
      artifacts: (given.artifacts ?? []).flatMap((one) => one.parts),
    };
  });

/** A task by itself, as both versions answer to a question about one. */
export const taskSchema: z.ZodType<RemoteTask> = task;

const fromTask = (value: RemoteTask): RemoteEvent => ({ type: "task", task: value });
const fromMessage = (value: z.output<typeof message>): RemoteEvent => ({ type: "message", parts: value.parts });
const ofTask = { taskId: id, contextId: z.string().max(1_024).optional() };
const statusUpdate = z.object({ ...ofTask, status });
const artifactUpdate = z.object({ ...ofTask, artifact });
const taskIdOf = ({
  taskId,
  contextId = "",
}: {
  readonly taskId: string;
  readonly contextId?: string | undefined;
}): TaskId => ({ id: taskId, ...(contextId !== "" && { contextId }) });
const fromStatus = (value: z.output<typeof statusUpdate>): RemoteEvent => ({
  type: "status",
  task: taskIdOf(value),
  state: value.status.state,
  said: value.status.message?.parts ?? [],
});
const fromArtifact = (value: z.output<typeof artifactUpdate>): RemoteEvent => ({
  type: "artifact",
  task: taskIdOf(value),
  parts: value.artifact.parts,
});
const kind = <K extends string>(word: K) => z.object({ kind: z.literal(word) });

/** The answer to a message, or one event of a stream. */
export const eventSchema: z.ZodType<RemoteEvent> = z.union([
  z.object({ task }).transform((value) => fromTask(value.task)),
  z.object({ message }).transform((value) => fromMessage(value.message)),
  z.object({ statusUpdate }).transform((value) => fromStatus(value.statusUpdate)),
  z.object({ artifactUpdate }).transform((value) => fromArtifact(value.artifactUpdate)),
  kind("task").and(task).transform(fromTask),
  kind("message").and(message).transform(fromMessage),
  kind("status-update").and(statusUpdate).transform(fromStatus),
  kind("artifact-update").and(artifactUpdate).transform(fromArtifact),
]);
