/** What a call is given, member by member: texts of several lines keep them. */

import type { ReactElement } from "react";
import type { Json } from "@capstan/core";
import { pretty } from "../format.ts";

export function InputView({ input }: { readonly input: Json }): ReactElement | null {
  if (input === null || input === "") return null;
  if (typeof input !== "object" || Array.isArray(input))
    return <pre className="well code max-h-72">{typeof input === "string" ? input : pretty(input)}</pre>;
  const members = Object.entries(input);
  if (members.length === 0) return <p className="text-[12.5px] text-muted">Without arguments</p>;
  return (
    <dl className="space-y-1.5 text-[13px]">
      {members.map(([name, value]) => (
        <div key={name} className="grid gap-x-3 sm:grid-cols-[7.5rem_minmax(0,1fr)]">
          <dt className="truncate pt-px font-mono text-[12px] text-muted">{name}</dt>
          <dd className="min-w-0">
            <Value value={value} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Value({ value }: { readonly value: Json }): ReactElement {
  const text = typeof value === "string" ? value : pretty(value);
  if (text.length <= 100 && !text.includes("\n")) return <code className="code">{text}</code>;
  return (
    <pre className="well code max-h-60" tabIndex={0}>
      {text}
    </pre>
  );
}
