/** Widths of styled text in terminal columns. One of the few files that know the library below. */

import { truncateToWidth, visibleWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";

export function widthOf(line: string): number {
  return visibleWidth(line);
}

/** Cut to `width` columns, with a mark where something is missing. */
export function fit(line: string, width: number, mark = "…"): string {
  return visibleWidth(line) <= width ? line : truncateToWidth(line, Math.max(0, width), width > 1 ? mark : "");
}

/** Exactly `width` columns. */
export function pad(line: string, width: number): string {
  const cut = fit(line, width);
  return cut + " ".repeat(Math.max(0, width - visibleWidth(cut)));
}

/** Wrapped at words; styles go on in the next line. */
export function wrap(text: string, width: number): readonly string[] {
  return wrapTextWithAnsi(text, Math.max(1, width));
}
