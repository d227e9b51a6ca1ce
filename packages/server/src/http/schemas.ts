/** Bodies of the HTTP door. Unknown members are refused: a misspelt one would be an option that is not kept. */

import { WIRE_LIMITS } from "@capstan/wire";
import type { FilePart, IfBusy, Json, Limits, Metadata, Tags, TextPart, WorkspaceRef } from "@capstan/core";
import { z } from "zod";

const id = z.string().min(1).max(WIRE_LIMITS.idChars);
const text = z.string().min(1).max(65_536);
const names = z.array(id).max(1_000);
const metadata = z.record(z.string().max(WIRE_LIMITS.idChars), z.json());
const count = z.number().min(0).max(Number.MAX_SAFE_INTEGER);

const part = z.union([
  z.strictObject({ type: z.literal("text"), text: z.string() }),
  z.strictObject({
    type: z.literal("file"),
    mediaType: id,
    name: z.string().max(1_000).exactOptional(),
    data: z.union([
      z.strictObject({ type: z.literal("base64"), base64: z.base64() }),
      z.strictObject({ type: z.literal("url"), url: z.url({ protocol: /^https?$/ }) }),
      z.strictObject({ type: z.literal("blob"), hash: id, size: count }),
    ]),
  }),
]);

const limits = z.strictObject({
  turns: count.exactOptional(),
  wallMs: count.exactOptional(),
  toolMs: count.exactOptional(),
  calls: count.exactOptional(),
  tokens: count.exactOptional(),
  microUsd: count.exactOptional(),
  ask: z.boolean().exactOptional(),
});

const sending = {
  input: z.union([z.string(), z.array(part).min(1).max(1_000)]),
  ifBusy: z.enum(["queue", "steer", "interrupt", "reject"]).exactOptional(),
  tags: z.record(id, z.string().max(65_536)).exactOptional(),
  /** JSON Schema of the answer. */
  outputSchema: z.record(z.string(), z.json()).exactOptional(),
  model: id.exactOptional(),
  instructions: z.string().exactOptional(),
  settings: z.record(z.string(), z.json()).exactOptional(),
  tools: names.exactOptional(),
  plugins: names.exactOptional(),
  limits: limits.exactOptional(),
  mode: id.exactOptional(),
};

const opening = {
  agent: id,
  key: id.exactOptional(),
  title: z.string().max(1_000).exactOptional(),
  metadata: metadata.exactOptional(),
  mode: id.exactOptional(),
  workspace: z.union([text, z.strictObject({ kind: id, root: text })]).exactOptional(),
  messages: z
    .array(z.looseObject({ id, role: z.string(), parts: z.array(z.looseObject({ type: z.string() })) }))
    .exactOptional(),
};

export type CreateBody = {
  readonly agent: string;
  readonly key?: string;
  readonly title?: string;
  readonly metadata?: Metadata;
  readonly mode?: string;
  readonly workspace?: string | WorkspaceRef;
  /** Checked by core. */
  readonly messages?: readonly unknown[];
};
export type SendBody = {
  readonly input: string | readonly (TextPart | FilePart)[];
  readonly ifBusy?: IfBusy;
  readonly tags?: Tags;
  readonly outputSchema?: { readonly [member: string]: Json };
  readonly model?: string;
  readonly instructions?: string;
  readonly settings?: { readonly [member: string]: Json };
  readonly tools?: readonly string[];
  readonly plugins?: readonly string[];
  readonly limits?: Limits;
  readonly mode?: string;
};
export type UpdateBody = {
  readonly title?: string;
  readonly metadata?: Metadata;
  readonly mode?: string;
  readonly model?: string;
};

export const createBody: z.ZodType<CreateBody> = z.strictObject(opening);
export const sendBody: z.ZodType<SendBody> = z.strictObject(sending);
export const sendNewBody: z.ZodType<CreateBody & SendBody> = z.strictObject({ ...opening, ...sending });
export const updateBody: z.ZodType<UpdateBody> = z.strictObject({
  title: z.string().max(1_000).exactOptional(),
  metadata: metadata.exactOptional(),
  mode: id.exactOptional(),
  model: id.exactOptional(),
});
/** Whether the answer fits its request is core's to say. */
export const respondBody: z.ZodType<{ readonly requestId: string; readonly answer: { readonly type: string } }> =
  z.strictObject({ requestId: id, answer: z.looseObject({ type: z.string() }) });
export const interruptBody: z.ZodType<{ readonly runId?: string }> = z.strictObject({ runId: id.exactOptional() });
export const withdrawBody: z.ZodType<{ readonly inputId: string }> = z.strictObject({ inputId: id });
export const forkBody: z.ZodType<{ readonly at?: number; readonly keepKey?: boolean }> = z.strictObject({
  at: z.int().min(1).exactOptional(),
  keepKey: z.boolean().exactOptional(),
});
/** `useChat`'s own; read by `parseUiPost`. */
export const chatBody: z.ZodType<{ readonly id: string; readonly messages: readonly unknown[] }> = z.looseObject({
  id,
  messages: z.array(z.unknown()),
});
