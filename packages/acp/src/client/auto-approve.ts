/** Which questions of another agent are answered with yes by themselves: none, unless somebody said which. Bounded and recorded. */

import { isAbsolute, relative, resolve, sep } from "node:path";
import type { AcpPermissionOption, AcpToolCallUpdate, AcpToolKind } from "@capstan/wire/acp";

/** What it asks. All of this is the agent's own word: it may say one thing and do another. */
export type PermissionAsk = { readonly toolCall: AcpToolCallUpdate; readonly options: readonly AcpPermissionOption[] };
export type ApproveRule = {
  readonly kind: AcpToolKind;
  /** Every file it names must be in this folder, and it must name one. Default: no matter where. */
  readonly within?: string;
};
export type AutoApprove = {
  /** Rules of which one must fit, or a function. What throws, or takes too long, says no. */
  readonly allow:
    | readonly ApproveRule[]
    | ((ask: PermissionAsk, options: { readonly signal: AbortSignal }) => boolean | Promise<boolean>);
  /** Yeses of one client, all together; default 100. */
  readonly atMost?: number;
};
export type PermissionRecord = {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly toolCallId: string;
  readonly title: string;
  readonly kind: string;
  readonly allowed: boolean;
  readonly by: "rule" | "function" | "nobody" | "limit" | "failure" | "cancel";
};

export const DEFAULT_APPROVALS = 100;

/** Whether one of the rules fits. */
export function approves(rules: readonly ApproveRule[], { toolCall }: PermissionAsk, cwd: string): boolean {
  const { kind = "other", locations } = toolCall;
  return rules.some((rule) => {
    if (rule.kind !== kind) return false;
    if (rule.within === undefined) return true;
    const folder = resolve(cwd, rule.within);
    const paths = (locations ?? []).map(({ path }) => resolve(cwd, path));
    return paths.length > 0 && paths.every((path) => isInside(path, folder));
  });
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === "" || (!isAbsolute(way) && way !== ".." && !way.startsWith(`..${sep}`));
}

/** What the protocol takes for yes or no. An "always" is never chosen: it would answer questions that nobody saw. */
export function outcomeOf(
  options: readonly AcpPermissionOption[],
  allowed: boolean,
): { readonly outcome: "selected"; readonly optionId: string } | { readonly outcome: "cancelled" } {
  const kind = allowed ? "allow_once" : "reject_once";
  const option = options.find((one) => one.kind === kind);
  return option === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId: option.optionId };
}
