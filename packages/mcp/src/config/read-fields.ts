/** Reads the members of one configured server, whatever the program it was written for calls them. */

import { messageOf } from "@capstan/core";
import { MCP_LIMITS } from "../limits.ts";
import type { ConfigProblem } from "./server-config.ts";

export type Members = { readonly [name: string]: unknown };
export type Texts = { readonly [name: string]: string };

/** Members of an object that came as JSON; undefined for anything else. */
export function membersOf(value: unknown): Members | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : undefined;
}

/** One server's members, with the problems found on the way. A wrong member is a fatal problem: nothing is guessed. */
export class Fields {
  readonly problems: ConfigProblem[];
  readonly #server: string;
  readonly #members: Members;
  readonly #variables: ((name: string) => string | undefined) | undefined;

  /** Without `variables` nothing is put in the place of `${NAME}`. */
  constructor(
    server: string,
    members: Members,
    variables: ((name: string) => string | undefined) | undefined,
    problems: ConfigProblem[] = [],
  ) {
    this.problems = problems;
    this.#server = server;
    this.#members = members;
    this.#variables = variables;
  }

  /** The same server's members of an inner object; problems go to the same list. */
  inside(members: Members): Fields {
    return new Fields(this.#server, members, this.#variables, this.problems);
  }

  /** A value of the environment. */
  variable(name: string): string | undefined {
    return this.#known(name);
  }

  has(...names: readonly string[]): boolean {
    return names.some((name) => this.raw(name) !== undefined);
  }

  raw(...names: readonly string[]): unknown {
    for (const name of names) {
      const value = Object.hasOwn(this.#members, name) ? this.#members[name] : undefined;
      if (value !== undefined && value !== null) return value;
    }
    return undefined;
  }

  text(...names: readonly string[]): string | undefined {
    const value = this.raw(...names);
    if (value === undefined) return undefined;
    if (typeof value === "string" && value.length <= MCP_LIMITS.configText) return this.#expand(value);
    this.wrong(`"${names[0]}" must be a text`);
    return undefined;
  }

  flag(...names: readonly string[]): boolean | undefined {
    const value = this.raw(...names);
    if (value === undefined || typeof value === "boolean") return value;
    this.wrong(`"${names[0]}" must be true or false`);
    return undefined;
  }

  positive(...names: readonly string[]): number | undefined {
    const value = this.raw(...names);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isFinite(value) && value > 0) return value;
    this.wrong(`"${names[0]}" must be a number above 0`);
    return undefined;
  }

  texts(...names: readonly string[]): readonly string[] | undefined {
    const value = this.raw(...names);
    if (value === undefined) return undefined;
    if (!isTextList(value)) {
      this.wrong(`"${names[0]}" must be a list of at most ${MCP_LIMITS.configEntries} texts`);
      return undefined;
    }
    return value.map((item) => this.#expand(item));
  }

  /** Text by name; numbers and booleans are written out, as environments are. */
  record(...names: readonly string[]): Texts | undefined {
    const value = this.raw(...names);
    if (value === undefined) return undefined;
    const members = membersOf(value);
    const entries = Object.entries(members ?? {});
    const plain = entries.every(([, item]) => ["string", "number", "boolean"].includes(typeof item));
    if (members === undefined || !plain || entries.length > MCP_LIMITS.configEntries) {
      this.wrong(`"${names[0]}" must be an object of at most ${MCP_LIMITS.configEntries} texts`);
      return undefined;
    }
    return Object.fromEntries(entries.map(([name, item]) => [name, this.#expand(String(item))]));
  }

  wrong(message: string): void {
    this.#add("field-invalid", message, true);
  }

  ignored(message: string): void {
    this.#add("field-ignored", message, false);
  }

  unknownTransport(message: string): void {
    this.#add("transport-unknown", message, true);
  }

  /** `${NAME}`, `${NAME:-default}`, `${env:NAME}`: values of the environment, as Claude, Cursor and VS Code write them. */
  #expand(value: string): string {
    if (this.#variables === undefined) return value;
    return value.replaceAll(/\$\{([^{}]{1,256})\}/g, (_whole, inside: string) => {
      const [, name = inside, fallback] = /^(?:env:)?([A-Za-z_][\w.]*)(?::-(.*))?$/s.exec(inside) ?? [];
      const known = /^[A-Za-z_][\w.]*$/.test(name) ? this.#known(name) : undefined;
      const found = known ?? fallback;
      if (found !== undefined) return found;
      this.#add("variable-missing", `\${${inside}} has no value here; set it or write the value`, true);
      return "";
    });
  }

  #known(name: string): string | undefined {
    try {
      return this.#variables?.(name);
    } catch (error) {
      this.wrong(`${name} cannot be read: ${messageOf(error)}`);
      return undefined;
    }
  }

  #add(code: ConfigProblem["code"], message: string, fatal: boolean): void {
    this.problems.push({ code, server: this.#server, message, fatal });
  }
}

function isTextList(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) &&
    value.length <= MCP_LIMITS.configEntries &&
    value.every((item) => typeof item === "string" && item.length <= MCP_LIMITS.configText)
  );
}
