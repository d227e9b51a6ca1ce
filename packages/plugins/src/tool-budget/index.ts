/** Bounds how often a run may call a tool, and how much the tools of one turn may say before the model is told to sum up. */

import { CapstanError, type Fact, type Plugin, plugin, text, type ToolOutput } from "@capstan/core";
import { diffSize } from "../diff-size.ts";
import { recorded } from "../own-facts.ts";
import { recall, remember, type Remembered } from "../remembered.ts";

export type BudgetUse = {
  readonly tool: string;
  /** Calls so far, without this one. */ readonly count: number;
  readonly max: number;
};
export type BudgetVerdict = { readonly mode: "steer" | "block"; readonly message: string };
/** A number, or what happens beyond it: "steer" (default) lets the call run and speaks to the model, "block" refuses it. */
export type CallBudget =
  | number
  | { readonly max: number; readonly onExceed?: "steer" | "block" | ((use: BudgetUse) => BudgetVerdict) };
export type ToolBudgetOptions = {
  /** By name of the tool; counted anew in every run. */
  readonly calls?: { readonly [tool: string]: CallBudget };
  /** UTF-8 bytes of all results of one turn. */
  readonly outputBytesPerTurn?: number;
};

const NAME = "tool-budget";
const TOOLS = 1_000;

/** `open`: calls of this turn that are counted already. */
type Use = { readonly count: number; readonly open: readonly string[] };
type Own = { readonly used: Remembered<Use>; readonly steers: Remembered<string>; readonly bytes: number };
type Data = { readonly tool: string; readonly callId: string; readonly steer?: string };
const START: Own = { used: [], steers: [], bytes: 0 };

/** Calls that a rule or a person refuses do not count. Throws `plugin-invalid` for what is no bound. */
export function toolBudget({ calls = {}, outputBytesPerTurn }: ToolBudgetOptions): Plugin {
  const budgets = new Map(Object.entries(calls).map(([tool, budget]) => [tool, checkedBudget(tool, budget)]));
  if (outputBytesPerTurn !== undefined) checkedBound("outputBytesPerTurn", outputBytesPerTurn);
  return plugin<Own>({
    name: NAME,
    fold: { start: START, next },
    async tool(call, context, next) {
      const { name: tool, callId } = call;
      const budget = budgets.get(tool);
      if (budget === undefined) return next(call);
      // nothing is awaited between this look and the record: calls of one turn cannot take the same place
      const { count, open } = recall(context.own.used, tool) ?? { count: 0, open: [] };
      if (open.includes(callId)) return next(call); // taken before a crash
      const verdict = count < budget.max ? undefined : budget.verdict({ tool, count, max: budget.max });
      if (verdict?.mode === "block") return context.answer(verdict.message, { isError: true });
      await context.record({ tool, callId, ...(verdict !== undefined && { steer: verdict.message }) } satisfies Data);
      return next(call);
    },
    prepare(_request, { own }) {
      const said = own.steers.map(([, message]) => message);
      if (outputBytesPerTurn !== undefined && own.bytes > outputBytesPerTurn)
        said.push(tooMuch(own.bytes, outputBytesPerTurn));
      return said.length === 0 ? undefined : { tail: said.map((message) => text(`<system>${message}</system>`)) };
    },
  });
}

type Budget = { readonly max: number; readonly verdict: (use: BudgetUse) => BudgetVerdict };

function checkedBudget(tool: string, given: CallBudget): Budget {
  const { max, onExceed = "steer" } = typeof given === "number" ? { max: given } : given;
  checkedBound(`calls.${tool}`, max);
  if (typeof onExceed === "function") return { max, verdict: (use) => checkedVerdict(tool, onExceed(use)) };
  if (onExceed !== "steer" && onExceed !== "block")
    throw invalid(`calls.${tool}.onExceed is "steer", "block" or a function`);
  return { max, verdict: (use) => ({ mode: onExceed, message: onExceed === "steer" ? steered(use) : blocked(use) }) };
}

/** An author's function: its type is a promise, not a fact. */
function checkedVerdict(tool: string, verdict: BudgetVerdict): BudgetVerdict {
  const { mode, message } = { ...verdict };
  if ((mode === "steer" || mode === "block") && typeof message === "string") return { mode, message };
  throw invalid(`calls.${tool}.onExceed gave no { mode, message }`);
}

function checkedBound(name: string, bound: number): void {
  if (!Number.isSafeInteger(bound) || bound < 0) throw invalid(`${name} must be a whole number from 0 on`);
}

function invalid(what: string): CapstanError {
  return new CapstanError("plugin-invalid", `toolBudget: ${what}`);
}

function steered({ tool, count, max }: BudgetUse): string {
  return `You have called ${tool} ${count + 1} times in this run; ${max} were meant to be enough. Go on with what you have instead of calling it again.`;
}

function blocked({ tool, max }: BudgetUse): string {
  return `Not done: this run may call ${tool} ${max} ${max === 1 ? "time" : "times"}, and has. Go on with what you have.`;
}

function tooMuch(bytes: number, limit: number): string {
  const counted = (number: number): string => number.toLocaleString("en-US");
  return `The tools of the last turn returned ${counted(bytes)} bytes; up to ${counted(limit)} are meant for one turn. Sum up what matters of it before you call more tools, and ask for less at a time.`;
}

function next(own: Own, fact: Fact): Own {
  if (fact.type === "run.started") return START;
  if (fact.type === "turn.finished")
    return { used: own.used.map(([tool, { count }]) => [tool, { count, open: [] }]), steers: [], bytes: 0 };
  if (fact.type === "tool.finished") {
    const bytes = own.bytes + bytesOf(fact.output);
    const use = fact.status === "denied" ? recall(own.used, fact.name) : undefined;
    if (use?.open.includes(fact.callId) !== true) return { ...own, bytes };
    const back = { count: use.count - 1, open: use.open.filter((callId) => callId !== fact.callId) };
    return { ...own, bytes, used: remember(own.used, fact.name, back, TOOLS) };
  }
  const data = recorded<Data>(fact, NAME);
  if (data === undefined) return own;
  const { tool, callId, steer } = data;
  const { count, open } = recall(own.used, tool) ?? { count: 0, open: [] };
  return {
    ...own,
    used: remember(own.used, tool, { count: count + 1, open: [...open, callId] }, TOOLS),
    steers: steer === undefined ? own.steers : remember(own.steers, tool, steer, TOOLS),
  };
}

function bytesOf({ content }: ToolOutput): number {
  return content.reduce((sum, part) => {
    if (part.type === "text") return sum + Buffer.byteLength(part.text);
    if (part.type === "file" && part.data.type === "base64") return sum + Math.floor(part.data.base64.length * 0.75);
    if (part.type === "file") return sum + (part.data.type === "blob" ? part.data.size : 0);
    return sum + diffSize(part);
  }, 0);
}
