/** What the source rules need to know of one TypeScript file: its imports, its first comment, its use of time and chance. */

import { readFileSync } from "node:fs";
import { parseSync, Visitor } from "oxc-parser";
import type { Expression } from "oxc-parser";

export interface Found {
  /** The specifier, or the name of what was used. */
  readonly text: string;
  readonly line: number;
}

export interface SourceFile {
  readonly hasHeader: boolean;
  readonly imports: readonly Found[];
  /** Uses of the clock, of timers and of randomness. */
  readonly impure: readonly Found[];
}

const IMPURE = new Set(["Date.now", "Math.random", "performance.now", "setTimeout", "setInterval", "randomUUID"]);

export function parseSource(path: string): SourceFile {
  const text = readFileSync(path, "utf8");
  const { program, module, errors } = parseSync(path, text);
  const [error] = errors;
  if (error !== undefined) throw new Error(`${path}: ${error.message}`);
  const found = (what: string, offset: number): Found => ({
    text: what,
    line: text.slice(0, offset).split("\n").length,
  });

  const imports = [
    ...module.staticImports.map((entry) => entry.moduleRequest),
    ...module.staticExports.flatMap(({ entries }) => entries.flatMap(({ moduleRequest }) => moduleRequest ?? [])),
  ].map(({ value, start }) => found(value, start));

  const impure: Found[] = [];
  const note = (name: string | undefined, offset: number): void => {
    if (name !== undefined && IMPURE.has(name)) impure.push(found(name, offset));
  };
  new Visitor({
    ImportExpression({ source }) {
      if (source.type === "Literal" && typeof source.value === "string")
        imports.push(found(source.value, source.start));
    },
    TSImportType({ source }) {
      imports.push(found(source.value, source.start));
    },
    MemberExpression(node) {
      const name = nameOf(node);
      note(name, node.start);
      if (name?.endsWith(".randomUUID") === true) note("randomUUID", node.start);
    },
    ImportSpecifier({ imported, start }) {
      note(imported.type === "Identifier" ? imported.name : imported.value, start);
    },
    CallExpression({ callee, start }) {
      if (callee.type === "Identifier") note(callee.name, start);
      if (nameOf(callee) === "Date") impure.push(found("Date()", start));
    },
    NewExpression({ callee, arguments: values, start }) {
      if (nameOf(callee) === "Date" && values.length === 0) impure.push(found("new Date()", start));
    },
  }).visit(program);

  return { hasHeader: /^(#!.*\n)?\s*\/\*\*/.test(text), imports, impure };
}

/** `a` or `a.b` of an expression that is written so; `globalThis.` in front is left out. */
function nameOf(node: Expression): string | undefined {
  if (node.type === "Identifier") return node.name;
  if (node.type !== "MemberExpression" || node.computed || node.property.type !== "Identifier") return undefined;
  const object = nameOf(node.object as Expression);
  if (object === "globalThis") return node.property.name;
  return `${object ?? ""}.${node.property.name}`;
}
