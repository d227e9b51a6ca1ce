/** Leaves out of an output what a terminal would not show any more: text that carriage returns overwrote, as progress bars do. */

/** UTF-16 units of an open line that is held back because more of it may be overwritten. */
const MAX_HELD = 4_096;

export type VisibleOutput = {
  push(stream: string, chunk: string): void;
  /** Gives what is held back. */
  end(): void;
  /** UTF-16 units that were left out. */
  readonly dropped: number;
};

/** Text goes to `take` in the order it came. A line that grows by several chunks is judged from its first carriage return on. */
export function visibleOutput(take: (text: string) => void): VisibleOutput {
  let held = "";
  let from = "";
  let dropped = 0;
  const lastWriting = (line: string): string => {
    const start = overwrittenUntil(line);
    dropped += start;
    return line.slice(start);
  };
  const end = (): void => {
    if (held !== "") take(lastWriting(held));
    held = "";
  };
  return {
    push(stream, chunk) {
      if (stream !== from) end();
      from = stream;
      const text = held + chunk;
      held = "";
      if (!text.includes("\r")) return take(text);
      const lines = text.split("\n");
      const open = lines.pop() ?? "";
      if (lines.length > 0) take(`${lines.map(lastWriting).join("\n")}\n`);
      if (!open.includes("\r")) return take(open);
      const start = Math.max(overwrittenUntil(open) - 1, 0);
      dropped += start;
      held = open.slice(start);
      if (held.length > MAX_HELD) end();
    },
    end,
    get dropped() {
      return dropped;
    },
  };
}

/** Index behind the last carriage return that text follows. */
function overwrittenUntil(line: string): number {
  let end = line.length;
  while (line[end - 1] === "\r") end -= 1;
  return end === 0 ? 0 : line.lastIndexOf("\r", end - 1) + 1;
}
