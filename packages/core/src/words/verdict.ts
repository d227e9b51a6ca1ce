/** The words in which permission is spoken of: modes of a session, and verdicts on calls. */

export const PERMISSION_MODES = ["ask", "accept-edits", "bypass", "plan", "never-ask"] as const;
export type PermissionMode = (typeof PERMISSION_MODES)[number];

export type PermissionWord = "allow" | "ask" | "deny";

export type Verdict = {
  readonly verdict: PermissionWord;
  /** One line for people; names what decided. */
  readonly reason: string;
  readonly by: "rule" | "tool" | "hook" | "mode" | "protected" | "default";
  /** Text of the deciding rule. */
  readonly rule?: string;
  readonly tier?: string;
  /** Whether "always" may be offered: it would change the verdict, and `rulesFor` can say it. */
  readonly remember: boolean;
};
