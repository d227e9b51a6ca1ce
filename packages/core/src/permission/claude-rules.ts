/** Permission rules of `.claude/settings.json` (`permissions.allow|ask|deny`, `defaultMode`) as rules of this policy. */

import type { Permission } from "../ports/agent.ts";
import { messageOf } from "../words/errors.ts";
import type { PermissionMode } from "../words/verdict.ts";
import { parseRule } from "./permission.ts";

export type ClaudeRules = {
  readonly permission: Permission;
  /** One line for each rule that could not be said exactly, and what was made of it. */
  readonly problems: readonly string[];
};
export type ClaudePlaces = {
  /** Absolute folder of the settings file's project: what `/x` is relative to. */
  readonly root: string;
  /** Absolute home folder: what `~/x` is relative to. */
  readonly home: string;
};

type List = "allow" | "ask" | "deny";
/** `wider`: the rules mean more than was written; they ask then instead of denying, and allow nothing. */
type Said = { readonly rules: readonly string[]; readonly wider?: boolean; readonly problem?: string };

const MODES: { readonly [mode: string]: PermissionMode } = {
  default: "ask",
  manual: "ask",
  auto: "ask",
  acceptEdits: "accept-edits",
  plan: "plan",
  dontAsk: "never-ask",
  bypassPermissions: "bypass",
};
const READING = /^(?:Read|Grep|Glob|LS|NotebookRead)$/;
const WRITING = /^(?:Edit|Write|MultiEdit|NotebookEdit)$/;
const FORM = /^([A-Za-z][\w-]*(?:\*)?)(?:\((.*)\))?$/s;

/**
 * Reads the member `permissions` of a settings file. A rule that cannot be said exactly is left out where it allows, and
 * asks for something wider where it forbids: the result is never more permissive than what was written.
 */
export function claudeRules(permissions: unknown, places: ClaudePlaces): ClaudeRules {
  const given = (typeof permissions === "object" && permissions !== null ? permissions : {}) as {
    readonly [name: string]: unknown; // any object has members
  };
  const lists = { allow: [] as string[], ask: [] as string[], deny: [] as string[] };
  const problems: string[] = [];
  for (const list of ["deny", "ask", "allow"] as const) {
    for (const text of textsOf(given[list])) {
      const { rules, wider = false, problem } = said(text.trim(), list, places);
      if (problem !== undefined) problems.push(`${list} ${JSON.stringify(text)}: ${problem}`);
      if (!wider) lists[list].push(...rules);
      else if (list !== "allow") lists.ask.push(...rules);
    }
  }
  const word = given["defaultMode"];
  const mode = typeof word === "string" && Object.hasOwn(MODES, word) ? MODES[word] : undefined;
  if (word !== undefined && mode === undefined) problems.push(`defaultMode ${JSON.stringify(word)}: not known`);
  return { permission: { ...lists, ...(mode !== undefined && { mode }) }, problems };
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((text) => typeof text === "string") : [];
}

function said(text: string, list: List, places: ClaudePlaces): Said {
  const [, name = "", pattern] = FORM.exec(text) ?? [];
  const meant =
    name === "" ? unsaid("not the form Tool or Tool(pattern)") : ofTool(name, pattern?.trim(), list, places);
  try {
    for (const rule of meant.rules) parseRule(rule);
    return meant;
  } catch (error) {
    const bare = READING.test(name) ? "Read" : WRITING.test(name) ? "Edit" : undefined;
    return { rules: bare === undefined ? [] : [bare], wider: true, problem: messageOf(error) };
  }
}

function ofTool(name: string, pattern: string | undefined, list: List, places: ClaudePlaces): Said {
  if (name.startsWith("mcp__")) return ofServer(name, pattern, list);
  if (name === "Bash") return pattern === undefined ? { rules: ["Bash"] } : ofCommand(pattern);
  if (READING.test(name) || WRITING.test(name)) return ofFiles(name, pattern, list, places);
  if (name === "WebFetch") return { rules: [pattern === undefined ? "web_fetch" : `web_fetch(${pattern})`] };
  if (name === "WebSearch" && pattern === undefined) return { rules: ["web_search"] };
  return unsaid(`the tool ${name} is not known here`);
}

/** `*` stands for any characters; here it stands only for further words at the end. */
function ofCommand(pattern: string): Said {
  const rule = pattern.replace(/:\*$/, " *");
  const star = rule.indexOf("*");
  if (star < 0 || (star === rule.length - 1 && /^\*$|[ \t]\*$/.test(rule))) return { rules: [`Bash(${rule})`] };
  const words = rule.slice(0, star).replace(/\S+$/, "").trim();
  return {
    rules: [`Bash(${words === "" ? "*" : `${words} *`})`],
    wider: true,
    problem: "a * inside a command cannot be said; where it forbids, everything that begins so asks",
  };
}

/** Globs as `.gitignore` reads them: a name alone at any depth, and with what is matched all that lies below it. */
function ofFiles(name: string, pattern: string | undefined, list: List, { root, home }: ClaudePlaces): Said {
  const alias = READING.test(name) ? "Read" : "Edit";
  const isConsulted = name === "Read" || name === "Edit";
  if (pattern === undefined) return { rules: [alias] };
  if (list === "allow" && !isConsulted)
    return unsaid(`only ${alias} rules allow ${alias === "Read" ? "reading" : "writing"}`);
  const path = placed(pattern, root, home);
  const below = path.endsWith("/") ? `${path}**` : path;
  if (list !== "allow") return { rules: [`${alias}(${below})`] }; // covers what lies below, and a bare name at any depth
  const anywhere = below.includes("/") ? below : `**/${below}`;
  return {
    rules: anywhere.endsWith("*") ? [`${alias}(${anywhere})`] : [`${alias}(${anywhere})`, `${alias}(${anywhere}/**)`],
  };
}

function placed(pattern: string, root: string, home: string): string {
  if (pattern.startsWith("//")) return pattern.slice(1);
  if (pattern.startsWith("/")) return `${literal(root)}${pattern}`;
  if (pattern.startsWith("~/")) return `${literal(home)}${pattern.slice(1)}`;
  return pattern;
}

/** A folder as the beginning of a pattern that means only it. */
function literal(folder: string): string {
  return folder.replace(/\/$/, "").replace(/[*?{}[\]]/g, "\\$&");
}

/** `mcp__server`, `mcp__server__*`, `mcp__server__tool`. */
function ofServer(name: string, pattern: string | undefined, list: List): Said {
  const [, server = "", tool = "*"] = /^mcp__((?:(?!__)[\w.-])+)(?:__([\w.*-]+))?$/.exec(name) ?? [];
  if (server === "" || pattern !== undefined || (tool !== "*" && tool.includes("*"))) {
    const what = "only a server, or one tool of it, can be said";
    return list === "allow" || server === ""
      ? unsaid(what)
      : { rules: [`mcp:${server}/*`], wider: true, problem: what };
  }
  return { rules: [`mcp:${server}/${tool}`] };
}

function unsaid(problem: string): Said {
  return { rules: [], problem };
}
