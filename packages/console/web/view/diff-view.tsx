/** A change to a file, line by line. */

import { memo, type ReactElement } from "react";
import type { DiffPart } from "@capstan/core";
import { type DiffLine, lineDiff } from "../data/line-diff.ts";

const MOST_LINES = 1_000;
const LOOK: { readonly [type in DiffLine["type"]]: readonly [sign: string, look: string] } = {
  same: [" ", "text-soft"],
  gone: ["-", "bg-bad-wash text-bad"],
  new: ["+", "bg-good-wash text-good"],
  skip: ["⋯", "text-muted"],
};

export const DiffView = memo(function DiffView({
  diff: { path, before, after },
}: {
  readonly diff: Omit<DiffPart, "type">;
}): ReactElement {
  const lines = lineDiff(before ?? "", after);
  const added = lines.filter(({ type }) => type === "new").length;
  const removed = lines.filter(({ type }) => type === "gone").length;
  return (
    <figure className="overflow-hidden rounded-lg border border-line">
      <figcaption className="flex items-center gap-2 border-b border-line bg-sunken px-3 py-1.5 font-mono text-[12px]">
        <span className="min-w-0 flex-1 truncate">{path}</span>
        <span className="text-good">+{added}</span>
        <span className="text-bad">−{removed}</span>
      </figcaption>
      <div className="max-h-96 overflow-auto bg-raised" tabIndex={0} role="region" aria-label={`Change of ${path}`}>
        <table className="w-full border-collapse font-mono text-[12px] leading-[1.55]">
          <tbody>
            {lines.slice(0, MOST_LINES).map((line, index) => (
              <tr key={index} className={LOOK[line.type][1]}>
                <td className="w-6 px-2 text-center select-none">{LOOK[line.type][0]}</td>
                <td className="pr-3 break-words whitespace-pre-wrap">{line.text}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {lines.length > MOST_LINES && (
          <p className="px-3 py-1 text-[12px] text-muted">… {lines.length - MOST_LINES} more lines</p>
        )}
      </div>
    </figure>
  );
});
