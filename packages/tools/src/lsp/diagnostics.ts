/** Diagnostics as a server sends them (LSP 3.17, `Diagnostic`), checked, and as lines for a model. */

import { z } from "zod";
import { inertText } from "../web/page-text.ts";
import { count, cutAt } from "../tool-answer.ts";
import { LSP_LIMITS as LIMITS } from "./limits.ts";

/** Its place counts from 0, as the protocol does. */
export type Diagnostic = {
  readonly range: { readonly start: { readonly line: number; readonly character: number } };
  /** 1 is an error, 4 a hint. */
  readonly severity?: number | null | undefined;
  readonly code?: string | number | null | undefined;
  readonly source?: string | null | undefined;
  readonly message: string;
};
const diagnosticSchema: z.ZodType<Diagnostic> = z.object({
  range: z.object({ start: z.object({ line: z.int().min(0), character: z.int().min(0) }) }),
  severity: z.int().min(1).max(4).nullish().catch(undefined),
  code: z.union([z.string(), z.number()]).nullish().catch(undefined),
  source: z.string().nullish().catch(undefined),
  message: z.string(),
});

const WORDS = ["error", "error", "warning", "information", "hint"] as const;

/** Those that are well formed; a server's other ones say nothing. */
export function diagnosticsOf(value: unknown): readonly Diagnostic[] {
  if (!Array.isArray(value)) return [];
  return value.slice(0, 10_000).flatMap((one: unknown) => {
    const checked = diagnosticSchema.safeParse(one);
    return checked.success ? [checked.data] : [];
  });
}

/** The worst first. Lines and columns count from 1. */
export function diagnosticLines(found: readonly Diagnostic[]): string {
  const worst = found.toSorted(
    (left, right) => rank(left) - rank(right) || left.range.start.line - right.range.start.line,
  );
  const lines = worst.slice(0, LIMITS.shown).map(({ range: { start }, severity, code, source, message }) => {
    const said = cutAt(inertText(message).replace(/\s+/g, " ").trim(), LIMITS.messageCharacters);
    const from = [source, code].filter((part) => part !== undefined && part !== null && part !== "").join(" ");
    const origin = from === "" ? "" : ` [${cutAt(inertText(from).replace(/\s+/g, " "), 80)}]`;
    return `${start.line + 1}:${start.character + 1} ${WORDS[severity ?? 1] ?? "error"}: ${said}${origin}`;
  });
  const more = found.length - lines.length;
  return [...lines, ...(more > 0 ? [`(${count(more, "more diagnostic")})`] : [])].join("\n");
}

function rank({ severity }: Diagnostic): number {
  return severity ?? 1;
}
