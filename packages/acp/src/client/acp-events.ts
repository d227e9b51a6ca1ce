/** What happens to another agent beside what it says: for logs, and for whoever must know which session this is. */

import type { PermissionRecord } from "./auto-approve.ts";

export type AcpEvent =
  | { readonly type: "agent.started"; readonly pid: number }
  /** How the session came about. With "new" what was said before is gone for the agent; `failed` says what was tried first. */
  | {
      readonly type: "session.opened";
      readonly sessionId: string;
      readonly by: "resume" | "load" | "new";
      readonly failed: readonly { readonly by: "resume" | "load"; readonly message: string }[];
    }
  | { readonly type: "permission.answered"; readonly record: PermissionRecord }
  /** It ended by itself. */
  | { readonly type: "agent.lost"; readonly message: string }
  | { readonly type: "agent.restarting"; readonly attempt: number; readonly delayMs: number }
  /** It was lost too often: the next `connect` is the caller's. */
  | { readonly type: "agent.given-up"; readonly message: string }
  /** Messages could not be kept in the file. */
  | { readonly type: "messages.not-kept"; readonly message: string };
