/** The results as a table for people. */

import { type Row, type Spread, verdictOf } from "./measure.ts";

const HEAD = ["measure", "floor", "capstan", "ratio or value", "target", "verdict", ""];

export function table(rows: readonly Row[]): string {
  const cells = [HEAD, ...rows.map(cellsOf)];
  const widths = HEAD.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  return cells
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function cellsOf(row: Row): readonly string[] {
  const { measure, floor, capstan, unit, value, valueUnit = "x", target, note = "" } = row;
  return [
    measure,
    spread(floor, unit),
    spread(capstan, unit),
    value === undefined ? "" : `${short(value)}${valueUnit === "x" ? "x" : ` ${valueUnit}`}`,
    target === undefined ? "" : `<= ${target}${valueUnit === "x" ? "x" : ` ${valueUnit}`}`,
    verdictOf(row) === "info" ? "" : verdictOf(row),
    note,
  ];
}

function spread(value: Spread | undefined, unit: string): string {
  if (value === undefined) return "";
  const { median, min, max } = value;
  if (min === max) return `${short(median)} ${unit}`;
  return `${short(median)} ${unit} (${short(min)}..${short(max)})`;
}

function short(value: number): string {
  const size = Math.abs(value);
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(size >= 0.1 ? 2 : 3);
}
