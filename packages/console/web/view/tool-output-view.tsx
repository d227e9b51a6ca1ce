/** What a tool answered: text, files, and changes to files line by line. */

import type { ReactElement } from "react";
import type { ToolOutput } from "@capstan/core";
import { pretty } from "../format.ts";
import { DiffView } from "./diff-view.tsx";
import { FileView } from "./part-view.tsx";

const MOST_CHARS = 100_000;

export function ToolOutputView({ output }: { readonly output: ToolOutput }): ReactElement {
  const { content, isError, truncated, labels = [] } = output;
  return (
    <div className="space-y-2">
      {content.map((part, index) => {
        if (part.type === "diff") return <DiffView key={index} diff={part} />;
        if (part.type === "file") return <FileView key={index} part={part} />;
        if (part.text === "") return null;
        const rest = part.text.length - MOST_CHARS;
        return (
          <pre key={index} tabIndex={0} className={`well code max-h-80 ${isError === true ? "text-bad" : ""}`}>
            {rest > 0 ? `${part.text.slice(0, MOST_CHARS)}\n… ${rest} more characters` : part.text}
          </pre>
        );
      })}
      {output.output !== undefined && <pre className="well code max-h-80">{pretty(output.output)}</pre>}
      {(truncated === true || labels.length > 0) && (
        <p className="text-[12px] text-muted">
          {truncated === true && "Cut to fit. "}
          {labels.length > 0 && `Labels: ${labels.join(", ")}`}
        </p>
      )}
    </div>
  );
}
