/** What a door may ask of a session, and what it is told when that is durable. */

import type { IfBusy, Metadata, Overrides, Parent, WorkspaceRef } from "./event.ts";
import type { Message, Part, Usage } from "./message.ts";
import type { Actor, Answer } from "./request.ts";

export type Op =
  | {
      readonly type: "open";
      readonly sessionId: string;
      readonly agent: string;
      readonly key?: string;
      readonly workspace?: WorkspaceRef;
      readonly title?: string;
      readonly metadata?: Metadata;
      readonly mode?: string;
      readonly messages?: readonly Message[];
      /** Set by the loop only. */
      readonly parent?: Parent;
    }
  | {
      readonly type: "send";
      readonly sessionId: string;
      readonly parts: readonly Part[];
      readonly ifBusy: IfBusy;
      readonly overrides?: Overrides;
    }
  | { readonly type: "withdraw"; readonly sessionId: string; readonly inputId: string }
  | { readonly type: "respond"; readonly sessionId: string; readonly requestId: string; readonly answer: Answer }
  | { readonly type: "interrupt"; readonly sessionId: string; readonly runId?: string; readonly reason?: string }
  | {
      readonly type: "update";
      readonly sessionId: string;
      readonly title?: string;
      readonly metadata?: Metadata;
      readonly mode?: string;
      readonly model?: string;
      /** Of the model call that made this change. */
      readonly usage?: Usage;
    }
  | {
      readonly type: "fork";
      readonly sessionId: string;
      readonly at?: number;
      readonly intoSessionId: string;
      readonly keepKey?: boolean;
    }
  | { readonly type: "remove"; readonly sessionId: string };
export type OpOf<Type extends Op["type"]> = Extract<Op, { readonly type: Type }>;

/** `runId` is the run that a `send` starts; all its facts come after the session's fact `after`. */
export type Accepted = {
  readonly sessionId: string;
  readonly inputId?: string;
  readonly runId?: string;
  readonly after?: number;
};

/** One entry of a session's mailbox. `accepted` holds the ids minted when it was submitted. */
export type MailboxEntry = { readonly position: number; readonly key: string; readonly actor: Actor } & MailBody;
export type MailBody =
  | { readonly type: "op"; readonly op: Op; readonly accepted: Accepted }
  | { readonly type: "child-finished"; readonly childSessionId: string }
  | { readonly type: "timer"; readonly name: string };
