/** Copies a text, and says so. */

import { type ReactElement, useState } from "react";
import { Icon } from "./icon.tsx";

const SAID_MS = 1_500;

type Props = { readonly text: string | (() => string); readonly name: string; readonly word?: string };

export function CopyButton({ text, name, word }: Props): ReactElement {
  const [said, setSaid] = useState<"copied" | "failed">();
  const copy = async (): Promise<void> => {
    const done = await copyText(typeof text === "string" ? text : text());
    setSaid(done ? "copied" : "failed");
    setTimeout(() => setSaid(undefined), SAID_MS);
  };
  return (
    <button
      type="button"
      aria-label={said === undefined ? name : said}
      onClick={() => void copy()}
      className="button quiet min-h-6 px-1.5 py-0.5"
    >
      <Icon name={said === "copied" ? "check" : said === "failed" ? "cross" : "copy"} size={13} />
      {word}
    </button>
  );
}

/** The clipboard is there on the loopback and over TLS only. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
