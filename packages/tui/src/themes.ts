/** Themes: how each role of the terminal looks, built in or read from a JSON file. */

import { CapstanError } from "@capstan/core";
import { isColor, type Style } from "./view/style.ts";

export const ROLES = [
  "accent",
  "added",
  "border",
  "code",
  "comment",
  "dim",
  "error",
  "heading",
  "keyword",
  "link",
  "number",
  "quote",
  "reasoning",
  "removed",
  "selected",
  "strong",
  "string",
  "success",
  "user",
  "warning",
] as const;
export type Role = (typeof ROLES)[number];
export type Theme = { readonly name: string; readonly styles: { readonly [role in Role]: Style } };

const dark: Theme = {
  name: "dark",
  styles: {
    accent: { color: "#5fafff" },
    added: { color: "#87d787" },
    border: { color: "#5f5f87" },
    code: { color: "#d7af87" },
    comment: { color: "#808080", italic: true },
    dim: { color: "#8a8a8a" },
    error: { color: "#ff5f5f" },
    heading: { color: "#5fafff", bold: true },
    keyword: { color: "#d787ff" },
    link: { color: "#5fd7ff", underline: true },
    number: { color: "#ffaf5f" },
    quote: { color: "#afafaf", italic: true },
    reasoning: { color: "#8a8a8a", italic: true },
    removed: { color: "#ff8787" },
    selected: { color: "#5fafff", bold: true },
    strong: { bold: true },
    string: { color: "#afd787" },
    success: { color: "#5fd787" },
    user: { color: "#5fd7ff", bold: true },
    warning: { color: "#ffd75f" },
  },
};
const light: Theme = {
  name: "light",
  styles: {
    accent: { color: "#005faf" },
    added: { color: "#005f00" },
    border: { color: "#8787af" },
    code: { color: "#875f00" },
    comment: { color: "#767676", italic: true },
    dim: { color: "#626262" },
    error: { color: "#af0000" },
    heading: { color: "#005faf", bold: true },
    keyword: { color: "#8700af" },
    link: { color: "#0087af", underline: true },
    number: { color: "#af5f00" },
    quote: { color: "#585858", italic: true },
    reasoning: { color: "#626262", italic: true },
    removed: { color: "#af0000" },
    selected: { color: "#005faf", bold: true },
    strong: { bold: true },
    string: { color: "#5f8700" },
    success: { color: "#008700" },
    user: { color: "#005f87", bold: true },
    warning: { color: "#875f00" },
  },
};
const contrast: Theme = {
  name: "high-contrast",
  styles: {
    accent: { color: "bright-cyan", bold: true },
    added: { color: "bright-green", bold: true },
    border: { color: "bright-white" },
    code: { color: "bright-yellow" },
    comment: { color: "white" },
    dim: { color: "white" },
    error: { color: "bright-red", bold: true },
    heading: { color: "bright-white", bold: true, underline: true },
    keyword: { color: "bright-magenta", bold: true },
    link: { color: "bright-cyan", underline: true },
    number: { color: "bright-yellow" },
    quote: { color: "bright-white" },
    reasoning: { color: "white" },
    removed: { color: "bright-red", bold: true },
    selected: { inverse: true, bold: true },
    strong: { bold: true },
    string: { color: "bright-green" },
    success: { color: "bright-green", bold: true },
    user: { color: "bright-cyan", bold: true },
    warning: { color: "bright-yellow", bold: true },
  },
};
const plain: Theme = {
  name: "none",
  styles: {
    ...(Object.fromEntries(ROLES.map((role) => [role, {}])) as unknown as Theme["styles"]), // every role is in it
    heading: { bold: true },
    selected: { inverse: true },
    strong: { bold: true },
    user: { bold: true },
  },
};

/** The first is the default. */
export const THEMES: readonly Theme[] = [dark, light, contrast, plain];

const ATTRIBUTES = ["bold", "dim", "italic", "underline", "inverse"] as const;

/**
 * A theme of a JSON file: `{ "name", "extends"?, "styles"?: { role: "#rrggbb" | { color?, background?, bold?, ... } } }`.
 * What it does not say is taken from the theme it extends, by default `dark`. Throws `config-invalid`.
 */
export function parseTheme(value: unknown): Theme {
  const given = membersOf(value, "A theme");
  const { name, extends: base = "dark", styles = {}, ...others } = given;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw invalid(`A theme has no ${JSON.stringify(unknown)}`);
  if (typeof name !== "string" || !/^[\w-]{1,40}$/.test(name))
    throw invalid("A theme needs a name of letters, digits, - and _");
  const from = THEMES.find((theme) => theme.name === base);
  if (from === undefined)
    throw invalid(
      `Theme ${name} extends ${JSON.stringify(base)}; known: ${THEMES.map((theme) => theme.name).join(", ")}`,
    );
  const own = Object.entries(membersOf(styles, `Styles of theme ${name}`)).map(([role, style]) => {
    if (!ROLES.some((known) => known === role))
      throw invalid(`Theme ${name}: there is no role ${JSON.stringify(role)}`);
    return [role, parseStyle(style, `Theme ${name}, ${role}`)] as const;
  });
  return { name, styles: { ...from.styles, ...Object.fromEntries(own) } };
}

function parseStyle(value: unknown, where: string): Style {
  if (typeof value === "string") return { color: parseColor(value, where) };
  const members = membersOf(value, where);
  const style: { -readonly [name in keyof Style]: Style[name] } = {};
  for (const [name, member] of Object.entries(members)) {
    const attribute = ATTRIBUTES.find((known) => known === name);
    if (name === "color" || name === "background") style[name] = parseColor(member, `${where}, ${name}`);
    else if (attribute !== undefined && typeof member === "boolean") style[attribute] = member;
    else throw invalid(`${where}: ${JSON.stringify(name)} is not understood`);
  }
  return style;
}

function parseColor(value: unknown, where: string): string {
  if (typeof value === "string" && isColor(value)) return value;
  throw invalid(`${where}: ${JSON.stringify(value)} is no colour; write #rrggbb or a name such as bright-cyan`);
}

function membersOf(value: unknown, what: string): { readonly [name: string]: unknown } {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as { readonly [name: string]: unknown }; // checked here
  throw invalid(`${what} must be an object`);
}

function invalid(message: string): CapstanError {
  return new CapstanError("config-invalid", message);
}
